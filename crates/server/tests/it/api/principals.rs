//! Events carry the principal of the call that caused them.

use std::sync::Arc;

use perennial_identity::{Credential, Grants, Principal};
use perennial_library::{Config, Perennial, Storage};
use perennial_proto::temporal::batch::v1::BatchOperationSignal;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::{BatchOperationState, EventType};
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeBatchOperationRequest, DescribeBatchOperationResponse,
    GetWorkflowExecutionHistoryRequest, GetWorkflowExecutionHistoryResponse,
    PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse,
    RespondWorkflowTaskCompletedRequest, RespondWorkflowTaskCompletedResponse,
    SignalWorkflowExecutionRequest, SignalWorkflowExecutionResponse, StartBatchOperationRequest,
    StartBatchOperationResponse, StartWorkflowExecutionResponse,
};
use perennial_server::{CallContext, Services};
use prost::Message;

use crate::api::test_server::{queue, start};

/// Calls the services with different credentials.
struct Callers(Services);

impl Callers {
    async fn new() -> Self {
        let perennial = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
        Self(perennial.services().clone())
    }

    async fn call<R: Message + Default>(
        &self,
        by: Principal,
        rpc: &str,
        request: impl Message,
    ) -> R {
        let path = format!("/temporal.api.workflowservice.v1.WorkflowService/{rpc}");
        let mut context = CallContext::in_process();
        context.principal = Arc::new(by);
        let response = self.0.call(&path, context, request.encode_to_vec().into()).await;
        R::decode(response.unwrap()).unwrap()
    }

    /// The events of `order-7` and their principals.
    async fn history(&self) -> Vec<(EventType, String)> {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: "default".to_owned(),
            execution: order(),
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let read: GetWorkflowExecutionHistoryResponse =
            self.call(Principal::anonymous(), "GetWorkflowExecutionHistory", request).await;
        let events = read.history.unwrap().events.into_iter();
        let shown = events.map(|event| {
            let by = event.principal.as_ref().map(|it| format!("{}:{}", it.r#type, it.name));
            (event.event_type(), by.unwrap_or_default())
        });
        shown.collect()
    }
}

fn key(name: &str) -> Principal {
    Principal::new(Credential::ApiKey, name, Grants::everything())
}

fn order() -> Option<WorkflowExecution> {
    Some(WorkflowExecution { workflow_id: "order-7".to_owned(), run_id: String::new() })
}

fn signal(name: &str) -> SignalWorkflowExecutionRequest {
    SignalWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_execution: order(),
        signal_name: name.to_owned(),
        ..SignalWorkflowExecutionRequest::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn history_shows_who_started_signaled_and_worked() {
    let callers = Callers::new().await;
    let shop = Principal::new(Credential::Token, "https://issuer/ shop", Grants::everything());
    let started = "StartWorkflowExecution";
    let _: StartWorkflowExecutionResponse = callers.call(shop, started, start("order-7")).await;
    let poll = PollWorkflowTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: queue(),
        ..PollWorkflowTaskQueueRequest::default()
    };
    let task: PollWorkflowTaskQueueResponse =
        callers.call(key("worker"), "PollWorkflowTaskQueue", poll).await;
    // Buffered, because a worker has the task.
    let signals = "SignalWorkflowExecution";
    let _: SignalWorkflowExecutionResponse =
        callers.call(key("ops"), signals, signal("known")).await;
    let _: SignalWorkflowExecutionResponse =
        callers.call(Principal::anonymous(), signals, signal("unknown")).await;
    let complete = RespondWorkflowTaskCompletedRequest {
        namespace: "default".to_owned(),
        task_token: task.task_token,
        ..RespondWorkflowTaskCompletedRequest::default()
    };
    let _: RespondWorkflowTaskCompletedResponse =
        callers.call(key("worker"), "RespondWorkflowTaskCompleted", complete).await;
    let expected = [
        (EventType::WorkflowExecutionStarted, "jwt:https://issuer/ shop"),
        (EventType::WorkflowTaskScheduled, "jwt:https://issuer/ shop"),
        (EventType::WorkflowTaskStarted, "api-key:worker"),
        (EventType::WorkflowTaskCompleted, "api-key:worker"),
        (EventType::WorkflowExecutionSignaled, "api-key:ops"),
        (EventType::WorkflowExecutionSignaled, ""),
        (EventType::WorkflowTaskScheduled, "api-key:worker"),
    ];
    assert_eq!(callers.history().await, expected.map(|(kind, by)| (kind, by.to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
#[allow(deprecated, reason = "older clients name runs this way")]
async fn events_of_a_batch_job_carry_whoever_started_it() {
    let callers = Callers::new().await;
    let _: StartWorkflowExecutionResponse =
        callers.call(Principal::anonymous(), "StartWorkflowExecution", start("order-7")).await;
    let operation = BatchOperationSignal {
        signal: "hurry".to_owned(),
        identity: "laptop".to_owned(),
        ..BatchOperationSignal::default()
    };
    let job = StartBatchOperationRequest {
        namespace: "default".to_owned(),
        job_id: "job".to_owned(),
        reason: "a sale".to_owned(),
        executions: order().into_iter().collect(),
        operation: Some(Operation::SignalOperation(operation)),
        ..StartBatchOperationRequest::default()
    };
    let _: StartBatchOperationResponse = callers.call(key("ops"), "StartBatchOperation", job).await;
    let described = loop {
        let request = DescribeBatchOperationRequest {
            namespace: "default".to_owned(),
            job_id: "job".to_owned(),
        };
        let described: DescribeBatchOperationResponse =
            callers.call(Principal::anonymous(), "DescribeBatchOperation", request).await;
        match described.state() {
            BatchOperationState::Running => tokio::task::yield_now().await,
            _ => break described,
        }
    };
    assert_eq!((described.complete_operation_count, described.identity.as_str()), (1, "laptop"));
    let signaled = (EventType::WorkflowExecutionSignaled, "api-key:ops".to_owned());
    let history = callers.history().await;
    assert_eq!(history.last(), Some(&signaled), "{history:?}");
    assert_eq!(history[0], (EventType::WorkflowExecutionStarted, String::new()));
}
