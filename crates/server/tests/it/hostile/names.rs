//! Names that fill a whole message.

use perennial_proto::temporal::common::v1::{Payload, SearchAttributes, WorkflowType};
use perennial_proto::temporal::enums::v1::IndexedValueType;
use perennial_proto::temporal::operatorservice::v1::AddSearchAttributesRequest;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{
    CalendarSpec, Range, Schedule, ScheduleAction, ScheduleSpec, StructuredCalendarSpec,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::{
    CreateScheduleRequest, ListWorkflowExecutionsRequest, RegisterNamespaceRequest,
    StartWorkflowExecutionRequest,
};
use prost::Message;
use tonic::{Code, Status};

use crate::hostile::test_server::{TestServer, call};

/// Errors travel in headers, of which some clients read 8 KB.
fn assert_refused(status: &Status, words: &str) {
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    assert!(status.message().contains(words), "{status}");
    assert!(status.message().len() < 3_000, "{} bytes", status.message().len());
}

fn schedule(spec: ScheduleSpec) -> CreateScheduleRequest {
    let workflow = NewWorkflowExecutionInfo {
        workflow_id: "w".to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() }),
        ..NewWorkflowExecutionInfo::default()
    };
    let action = ScheduleAction { action: Some(Action::StartWorkflow(workflow)) };
    CreateScheduleRequest {
        namespace: "default".to_owned(),
        schedule_id: "s".to_owned(),
        request_id: "r".to_owned(),
        schedule: Some(Schedule { spec: Some(spec), action: Some(action), ..Schedule::default() }),
        ..CreateScheduleRequest::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_with_long_names_are_refused_at_once() {
    let server = TestServer::new().await;
    let long = "Europe/Oslo".repeat(30_000);
    let zone = ScheduleSpec { timezone_name: long.clone(), ..ScheduleSpec::default() };
    let cron = ScheduleSpec {
        cron_string: vec![format!("CRON_TZ=Europe/{} * * * * *", "x".repeat(9_000))],
        ..ScheduleSpec::default()
    };
    let calendar = CalendarSpec { month: long.clone(), ..CalendarSpec::default() };
    let calendar = ScheduleSpec { calendar: vec![calendar], ..ScheduleSpec::default() };
    let ranges = StructuredCalendarSpec {
        hour: vec![Range::default(); 300_000],
        ..StructuredCalendarSpec::default()
    };
    let ranges = ScheduleSpec { structured_calendar: vec![ranges], ..ScheduleSpec::default() };
    let typo = ScheduleSpec { timezone_name: "Europe/Olso".to_owned(), ..ScheduleSpec::default() };
    for (spec, words) in [
        (zone, "the name of the time zone has 330000 bytes; at most 255 are read"),
        (cron, "the name of the time zone has 9007 bytes"),
        (calendar, "the text has 330000 bytes; at most 10000 are read"),
        (ranges, "hour has 300000 ranges; at most 366 are read"),
        // A small mistake still gets a suggestion.
        (typo, r#"unknown time zone "Europe/Olso"; did you mean "Europe/Oslo"?"#),
    ] {
        assert_refused(&server.ask("CreateSchedule", &schedule(spec)).await, words);
    }
    server.assert_well().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_namespaces_and_attributes_are_checked() {
    let server = TestServer::new().await;
    for (namespace, words) in [
        ("a\nb".to_owned(), "control character"),
        ("\u{1b}[2J".to_owned(), "control character"),
        (" a".to_owned(), "begins or ends with a blank"),
        ("x".repeat(300_000), "Namespace length exceeds limit"),
    ] {
        let register = RegisterNamespaceRequest { namespace, ..Default::default() };
        assert_refused(&server.ask("RegisterNamespace", &register).await, words);
    }
    for (name, words) in [("", "is empty"), ("a`b", "backquote"), ("a\0b", "control character")] {
        let kind = i32::from(IndexedValueType::Keyword);
        let add = AddSearchAttributesRequest {
            search_attributes: [(name.to_owned(), kind)].into(),
            namespace: "default".to_owned(),
        };
        let path = "/temporal.api.operatorservice.v1.OperatorService/AddSearchAttributes";
        let refusal = call(server.channel().await, path, &add.encode_to_vec(), None).await;
        assert_refused(&refusal, words);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_shorten_long_names() {
    let server = TestServer::new().await;
    let long = "a".repeat(500_000);
    let nowhere = ListWorkflowExecutionsRequest { namespace: long.clone(), ..Default::default() };
    let refusal = server.ask("ListWorkflowExecutions", &nowhere).await;
    assert_eq!(refusal.code(), Code::NotFound);
    assert!(refusal.message().len() < 1_000 && refusal.details().len() < 8_000);

    let list = |query: String| ListWorkflowExecutionsRequest {
        namespace: "default".to_owned(),
        query,
        ..ListWorkflowExecutionsRequest::default()
    };
    let longer = "a".repeat(3_000_000);
    let refusal = server.ask("ListWorkflowExecutions", &list(format!("{longer} = 1"))).await;
    assert_refused(&refusal, "the query has 3000004 bytes; at most 2097152 are read");
    let refusal =
        server.ask("ListWorkflowExecutions", &list(format!("{} = 1", &long[..9_000]))).await;
    assert_refused(&refusal, "invalid search attribute: aaa");

    let start = StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: "w".to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() }),
        search_attributes: Some(SearchAttributes {
            indexed_fields: [(long, Payload::default())].into(),
        }),
        ..StartWorkflowExecutionRequest::default()
    };
    let refusal = server.ask("StartWorkflowExecution", &start).await;
    assert_refused(&refusal, "has no mapping defined for search attribute aaa");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_names_in_json_are_refused_without_being_repeated() {
    let server = TestServer::new().await;
    let long = "workflowType".repeat(30_000);
    for body in [
        format!(r#"{{"{long}": 1}}"#),
        format!(r#"{{"workflowIdReusePolicy": "{long}"}}"#),
        format!(
            r#"{{"header": {{"fields": {{"{long}": {{"metadata": 5, "data": 6}}}}, "{long}": 1}}}}"#
        ),
        format!(r#"{{"workflowRunTimeout": "{long}"}}"#),
    ] {
        let (code, answer) = server.post("/api/v1/namespaces/default/workflows/w", &body).await;
        assert_eq!(code, 400, "{answer}");
        assert!(answer.len() < 3_000, "{} bytes", answer.len());
    }
    server.assert_well().await;
    server.stop().await;
}
