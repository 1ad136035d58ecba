//! A token is valid only in the namespace and for the purpose it was issued for.

use std::sync::Arc;

use perennial_proto::store::TaskToken;
use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::command::v1::{Command, ScheduleActivityTaskCommandAttributes};
use perennial_proto::temporal::common::v1::{ActivityType, WorkflowExecution};
use perennial_proto::temporal::enums::v1::CommandType;
use perennial_proto::temporal::workflowservice::v1::{
    GetWorkflowExecutionHistoryRequest, ListNamespacesRequest, ListWorkflowExecutionsRequest,
    PollActivityTaskQueueRequest, PollWorkflowTaskQueueRequest, RecordActivityTaskHeartbeatRequest,
    RespondActivityTaskCompletedRequest, RespondWorkflowTaskCompletedRequest,
    StartWorkflowExecutionRequest,
};
use perennial_store::SqliteStore;
use prost::Message;
use tonic::Code;

use crate::api::test_server::{Client, client, client_of, queue, start};

/// The token of a workflow's first task, in the namespace `default`.
async fn task_token(client: &mut Client) -> Vec<u8> {
    client.start_workflow_execution(start("order")).await.unwrap();
    let poll = PollWorkflowTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: queue(),
        ..PollWorkflowTaskQueueRequest::default()
    };
    client.poll_workflow_task_queue(poll).await.unwrap().into_inner().task_token
}

/// The token of an activity, in the namespace `default`.
async fn activity_token(client: &mut Client) -> Vec<u8> {
    let token = task_token(client).await;
    let second = |seconds| Some(perennial_proto::Duration { seconds, nanos: 0 });
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id: "pay".to_owned(),
        activity_type: Some(ActivityType { name: "Pay".to_owned() }),
        task_queue: queue(),
        start_to_close_timeout: second(3_600),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    let command = Command {
        command_type: CommandType::ScheduleActivityTask.into(),
        attributes: Some(Attributes::ScheduleActivityTaskCommandAttributes(attributes)),
        ..Command::default()
    };
    let completion = RespondWorkflowTaskCompletedRequest {
        commands: vec![command],
        ..completion("default", &token)
    };
    client.respond_workflow_task_completed(completion).await.unwrap();
    let poll = PollActivityTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: queue(),
        ..PollActivityTaskQueueRequest::default()
    };
    client.poll_activity_task_queue(poll).await.unwrap().into_inner().task_token
}

fn completion(namespace: &str, token: &[u8]) -> RespondWorkflowTaskCompletedRequest {
    RespondWorkflowTaskCompletedRequest {
        namespace: namespace.to_owned(),
        task_token: token.to_vec(),
        ..RespondWorkflowTaskCompletedRequest::default()
    }
}

async fn completes(client: &mut Client, namespace: &str, token: &[u8]) -> Code {
    let completed = client.respond_workflow_task_completed(completion(namespace, token)).await;
    completed.map_or_else(|status| status.code(), |_| Code::Ok)
}

#[tokio::test]
async fn workflow_task_is_completed_only_in_its_own_namespace() {
    let mut client = client().await;
    let token = task_token(&mut client).await;
    assert_eq!(completes(&mut client, "other", &token).await, Code::NotFound);
    assert_eq!(completes(&mut client, "nowhere", &token).await, Code::NotFound);
    assert_eq!(completes(&mut client, "default", &token).await, Code::Ok);
}

#[tokio::test]
async fn activity_is_completed_only_in_its_own_namespace() {
    let mut client = client().await;
    let token = activity_token(&mut client).await;
    for (namespace, expected) in [("other", Code::NotFound), ("default", Code::Ok)] {
        let code = |status: tonic::Status| status.code();
        let heartbeat = RecordActivityTaskHeartbeatRequest {
            namespace: namespace.to_owned(),
            task_token: token.clone(),
            ..RecordActivityTaskHeartbeatRequest::default()
        };
        let beat = client.record_activity_task_heartbeat(heartbeat).await;
        assert_eq!(beat.map_or_else(code, |_| Code::Ok), expected);
        let completion = RespondActivityTaskCompletedRequest {
            namespace: namespace.to_owned(),
            task_token: token.clone(),
            ..RespondActivityTaskCompletedRequest::default()
        };
        let completed = client.respond_activity_task_completed(completion).await;
        assert_eq!(completed.map_or_else(code, |_| Code::Ok), expected);
    }
}

#[tokio::test]
async fn forged_task_tokens_complete_nothing() {
    let mut client = client().await;
    let token = task_token(&mut client).await;
    // The first namespace has the key 1: the fields of a token are easily guessed.
    let by_hand = TaskToken {
        namespace: 1,
        workflow_id: "order".to_owned(),
        scheduled_event_id: 2,
        started_event_id: 3,
        attempt: 1,
        ..TaskToken::default()
    };
    let with_run = TaskToken { run_id: "run".to_owned(), ..by_hand.clone() };
    let unsigned = [by_hand.encode_to_vec(), with_run.encode_to_vec()].map(|body| {
        let zeros = [body.as_slice(), &[0; 20]].concat();
        [body, zeros]
    });
    for forged in unsigned.iter().flatten() {
        let code = completes(&mut client, "default", forged).await;
        assert!([Code::NotFound, Code::InvalidArgument].contains(&code), "{code:?}");
    }
    let mut changed = token.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(completes(&mut client, "default", &changed).await, Code::NotFound);
    assert_eq!(completes(&mut client, "default", b"junk").await, Code::InvalidArgument);
    assert_eq!(completes(&mut client, "nowhere", b"junk").await, Code::NotFound);
    assert_eq!(completes(&mut client, "default", &token).await, Code::Ok);
}

#[tokio::test]
async fn token_is_valid_after_a_restart() {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let mut first = client_of(store.clone()).await;
    let token = task_token(&mut first).await;
    let mut second = client_of(store).await;
    assert_eq!(completes(&mut second, "default", &token).await, Code::Ok);

    let mut elsewhere = client().await;
    task_token(&mut elsewhere).await;
    assert_eq!(completes(&mut elsewhere, "default", &token).await, Code::NotFound);
}

#[tokio::test]
async fn page_of_a_list_is_for_its_namespace_and_its_filter() {
    let mut client = client().await;
    for workflow_id in ["one", "two"] {
        client.start_workflow_execution(start(workflow_id)).await.unwrap();
    }
    let first = ListWorkflowExecutionsRequest {
        namespace: "default".to_owned(),
        page_size: 1,
        ..ListWorkflowExecutionsRequest::default()
    };
    let page = client.list_workflow_executions(first.clone()).await.unwrap().into_inner();
    let next = ListWorkflowExecutionsRequest { next_page_token: page.next_page_token, ..first };
    let mut forged = next.next_page_token.clone();
    forged[0] ^= 1;
    let refused = [
        ListWorkflowExecutionsRequest { namespace: "other".to_owned(), ..next.clone() },
        ListWorkflowExecutionsRequest { query: "WorkflowId = 'two'".to_owned(), ..next.clone() },
        ListWorkflowExecutionsRequest { next_page_token: forged, ..next.clone() },
        ListWorkflowExecutionsRequest { next_page_token: b"junk".to_vec(), ..next.clone() },
    ];
    for request in refused {
        let status = client.list_workflow_executions(request).await.unwrap_err();
        assert_eq!(status.message(), "Invalid NextPageToken.");
        assert_eq!(status.code(), Code::InvalidArgument);
    }
    // The page size may change between pages.
    let rest = ListWorkflowExecutionsRequest { page_size: 10, ..next };
    let rest = client.list_workflow_executions(rest).await.unwrap().into_inner();
    assert_eq!(rest.executions.len(), 1);
}

#[tokio::test]
async fn page_of_a_history_is_for_its_namespace() {
    let mut client = client().await;
    for namespace in ["default", "other"] {
        let namespace = namespace.to_owned();
        let start = StartWorkflowExecutionRequest { namespace, ..start("order") };
        client.start_workflow_execution(start).await.unwrap();
    }
    let execution = WorkflowExecution { workflow_id: "order".to_owned(), ..Default::default() };
    let first = GetWorkflowExecutionHistoryRequest {
        namespace: "default".to_owned(),
        execution: Some(execution),
        maximum_page_size: 1,
        ..GetWorkflowExecutionHistoryRequest::default()
    };
    let page = client.get_workflow_execution_history(first.clone()).await.unwrap().into_inner();
    let next =
        GetWorkflowExecutionHistoryRequest { next_page_token: page.next_page_token, ..first };
    let elsewhere =
        GetWorkflowExecutionHistoryRequest { namespace: "other".to_owned(), ..next.clone() };
    let refused = client.get_workflow_execution_history(elsewhere).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    client.get_workflow_execution_history(next).await.unwrap();
}

#[tokio::test]
async fn namespaces_are_listed_page_by_page() {
    let mut client = client().await;
    let mut names = Vec::new();
    let mut next_page_token = Vec::new();
    loop {
        let request = ListNamespacesRequest { page_size: 1, next_page_token, ..Default::default() };
        let page = client.list_namespaces(request).await.unwrap().into_inner();
        names.extend(page.namespaces.into_iter().map(|it| it.namespace_info.unwrap().name));
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    assert!(names.ends_with(&["default".to_owned(), "other".to_owned()]), "{names:?}");
    let next_page_token = b"default".to_vec();
    let by_hand = ListNamespacesRequest { next_page_token, ..Default::default() };
    let refused = client.list_namespaces(by_hand).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}
