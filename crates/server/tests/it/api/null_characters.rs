//! Text that not every database can store is refused at the edge: further in, it would stop its cell.

use std::collections::HashMap;

use perennial_proto::temporal::batch::v1::BatchOperationTermination;
use perennial_proto::temporal::common::v1::{Payload, SearchAttributes, WorkflowType};
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;
use perennial_proto::temporal::workflowservice::v1::{
    CountWorkflowExecutionsRequest, SignalWithStartWorkflowExecutionRequest,
    StartBatchOperationRequest, StartWorkflowExecutionRequest,
};
use tonic::{Code, Status};

use crate::api::test_server::{client, queue, schedule, start};

const NULL: &str = "a\0b";

fn refused<T: std::fmt::Debug>(result: Result<T, Status>, field: &str) {
    let status = result.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{field}: {status:?}");
    assert!(status.message().contains(field), "{field}: {status:?}");
}

#[tokio::test]
async fn starts_with_a_null_character_are_refused_by_field() {
    let mut client = client().await;
    let workflow_type = || Some(WorkflowType { name: NULL.to_owned() });
    let indexed = |name: &str, value: &str| SearchAttributes {
        indexed_fields: HashMap::from([(
            name.to_owned(),
            Payload { data: value.into(), ..Payload::default() },
        )]),
    };
    let task_queue = Some(TaskQueue { name: NULL.to_owned(), ..TaskQueue::default() });
    let starts = [
        (start(NULL), "WorkflowId has the character U+0000"),
        (
            StartWorkflowExecutionRequest { workflow_type: workflow_type(), ..start("order") },
            "WorkflowType has the character U+0000",
        ),
        (
            StartWorkflowExecutionRequest { task_queue, ..start("order") },
            "taskQueue has the character U+0000",
        ),
        (
            StartWorkflowExecutionRequest {
                search_attributes: Some(indexed("BatcherUser", r#""a\u0000b""#)),
                ..start("order")
            },
            "search attribute BatcherUser",
        ),
        (
            StartWorkflowExecutionRequest {
                search_attributes: Some(indexed("BuildIds", r#"["a", "\u0000"]"#)),
                ..start("order")
            },
            "search attribute BuildIds",
        ),
    ];
    for (start, field) in starts {
        refused(client.start_workflow_execution(start).await, field);
    }
    let signal_with_start = SignalWithStartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: "order".to_owned(),
        workflow_type: workflow_type(),
        task_queue: queue(),
        signal_name: "hello".to_owned(),
        ..SignalWithStartWorkflowExecutionRequest::default()
    };
    let refusal = client.signal_with_start_workflow_execution(signal_with_start).await;
    refused(refusal, "workflow type name");
    client.start_workflow_execution(start("order")).await.unwrap();
}

#[tokio::test]
async fn schedules_jobs_and_queries_with_a_null_character_are_refused() {
    let mut client = client().await;
    refused(client.create_schedule(schedule(NULL)).await, "ScheduleId");
    let mut request = schedule("nightly");
    let action = request.schedule.as_mut().unwrap().action.as_mut().unwrap();
    let Some(Action::StartWorkflow(workflow)) = &mut action.action else { unreachable!() };
    workflow.workflow_id = NULL.to_owned();
    refused(client.create_schedule(request).await, "U+0000");
    let job = StartBatchOperationRequest {
        namespace: "default".to_owned(),
        job_id: NULL.to_owned(),
        reason: "tidy".to_owned(),
        visibility_query: "WorkflowType = 'Order'".to_owned(),
        operation: Some(Operation::TerminationOperation(BatchOperationTermination::default())),
        ..StartBatchOperationRequest::default()
    };
    refused(client.start_batch_operation(job).await, "JobId");
    let count = CountWorkflowExecutionsRequest {
        namespace: "default".to_owned(),
        query: format!("WorkflowId = '{NULL}'"),
    };
    refused(client.count_workflow_executions(count).await, "U+0000");
}
