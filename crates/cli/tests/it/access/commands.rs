//! Workflows and task tokens: neither grants what their holder may not do.

use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::command::v1::{
    Command, SignalExternalWorkflowExecutionCommandAttributes,
};
use perennial_proto::temporal::common::v1::{WorkflowExecution, WorkflowType};
use perennial_proto::temporal::enums::v1::{CommandType, EventType};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    GetWorkflowExecutionHistoryRequest, GetWorkflowExecutionHistoryResponse,
    PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse,
    RespondWorkflowTaskCompletedRequest, StartWorkflowExecutionRequest,
};
use prost::Message;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::secured_server::{SecuredServer, call};

/// Calls of `WorkflowService` with a key.
struct Client<'a> {
    channel: &'a Channel,
    key: &'a str,
}

impl Client<'_> {
    async fn call<R: Message + Default>(
        &self,
        rpc: &str,
        request: &impl Message,
    ) -> Result<R, Status> {
        let path = format!("/temporal.api.workflowservice.v1.WorkflowService/{rpc}");
        let message = request.encode_to_vec().into();
        let response = call(self.channel, &path, Some(self.key), message).await?;
        Ok(R::decode(response).unwrap())
    }

    async fn start(&self, namespace: &str, workflow_id: &str) {
        let request = StartWorkflowExecutionRequest {
            namespace: namespace.to_owned(),
            workflow_id: workflow_id.to_owned(),
            workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
            task_queue: Some(queue(workflow_id)),
            request_id: workflow_id.to_owned(),
            ..StartWorkflowExecutionRequest::default()
        };
        self.call::<()>("StartWorkflowExecution", &request).await.unwrap();
    }

    /// The token of a workflow's task. Each workflow has a task queue of its own.
    async fn poll(&self, namespace: &str, workflow_id: &str) -> Vec<u8> {
        let request = PollWorkflowTaskQueueRequest {
            namespace: namespace.to_owned(),
            task_queue: Some(queue(workflow_id)),
            ..PollWorkflowTaskQueueRequest::default()
        };
        let task: PollWorkflowTaskQueueResponse =
            self.call("PollWorkflowTaskQueue", &request).await.unwrap();
        task.task_token
    }

    async fn complete(
        &self,
        namespace: &str,
        task_token: Vec<u8>,
        commands: Vec<Command>,
    ) -> Result<(), Status> {
        let request = RespondWorkflowTaskCompletedRequest {
            namespace: namespace.to_owned(),
            task_token,
            commands,
            ..RespondWorkflowTaskCompletedRequest::default()
        };
        self.call("RespondWorkflowTaskCompleted", &request).await
    }

    async fn events(&self, namespace: &str, workflow_id: &str) -> Vec<EventType> {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: namespace.to_owned(),
            execution: Some(execution(workflow_id)),
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let page: GetWorkflowExecutionHistoryResponse =
            self.call("GetWorkflowExecutionHistory", &request).await.unwrap();
        page.history.unwrap().events.iter().map(|event| event.event_type()).collect()
    }
}

fn queue(name: &str) -> TaskQueue {
    TaskQueue { name: name.to_owned(), ..TaskQueue::default() }
}

fn execution(workflow_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: String::new() }
}

#[allow(deprecated, reason = "it works as long as clients use it")]
fn signal(namespace: &str, workflow_id: &str) -> Command {
    let signal = SignalExternalWorkflowExecutionCommandAttributes {
        namespace: namespace.to_owned(),
        execution: Some(execution(workflow_id)),
        signal_name: "pay".to_owned(),
        ..SignalExternalWorkflowExecutionCommandAttributes::default()
    };
    Command {
        command_type: CommandType::SignalExternalWorkflowExecution.into(),
        attributes: Some(Attributes::SignalExternalWorkflowExecutionCommandAttributes(signal)),
        ..Command::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workflow_reaches_into_another_namespace_only_if_it_allows_that() {
    let server = SecuredServer::start();
    let channel = server.channel().await;
    let admin = Client { channel: &channel, key: &server.admin_key };
    admin.start("shop", "order").await;
    admin.start("shop", "misspelt").await;
    admin.start("bank", "account").await;

    let token = admin.poll("shop", "order").await;
    let refused = admin.complete("shop", token, vec![signal("bank", "account")]).await;
    let token = admin.poll("shop", "misspelt").await;
    let unknown = admin.complete("shop", token, vec![signal("bnak", "account")]).await;
    let (refused, unknown) = (refused.unwrap_err(), unknown.unwrap_err());
    assert_eq!(refused.code(), unknown.code());
    assert_eq!(refused.message().replace("bank", "bnak"), unknown.message());
    let reached = admin.events("bank", "account").await;
    assert!(!reached.contains(&EventType::WorkflowExecutionSignaled), "{reached:?}");

    let allow = ["operator", "namespace", "update", "bank", "--data", "perennial.allow-from=shop"];
    server.run(&allow);
    admin.start("shop", "allowed").await;
    let token = admin.poll("shop", "allowed").await;
    admin.complete("shop", token, vec![signal("bank", "account")]).await.unwrap();
    let mut reached = Vec::new();
    while !reached.contains(&EventType::WorkflowExecutionSignaled) {
        reached = admin.events("bank", "account").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn task_token_grants_nothing() {
    let server = SecuredServer::start();
    let channel = server.channel().await;
    let admin = Client { channel: &channel, key: &server.admin_key };
    admin.start("shop", "order").await;
    let token = admin.poll("shop", "order").await;
    let other = server.api_key("other", "bank:worker");
    let other = Client { channel: &channel, key: &other };
    for (namespace, code) in
        [("shop", Code::PermissionDenied), ("bank", Code::NotFound), ("", Code::PermissionDenied)]
    {
        let refused = other.complete(namespace, token.clone(), Vec::new()).await.unwrap_err();
        assert_eq!(refused.code(), code, "{namespace:?}: {}", refused.message());
    }
    let reader = server.api_key("reader", "shop:read");
    let reader = Client { channel: &channel, key: &reader };
    let refused = reader.complete("", token.clone(), Vec::new()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    // Without a namespace the token says which: its holder needs the role there.
    let worker = server.api_key("worker", "shop:worker");
    Client { channel: &channel, key: &worker }.complete("", token, Vec::new()).await.unwrap();
}
