//! A server for a test, and requests of clients and workers.

use std::sync::Arc;

use perennial_library::{Config, Perennial, Runtime, Storage, Store};
use perennial_proto::service::workflow::workflow_service_client::WorkflowServiceClient;
use perennial_proto::temporal::common::v1::WorkflowType;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{Schedule, ScheduleAction, ScheduleSpec};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::{
    CreateScheduleRequest, StartWorkflowExecutionRequest,
};
use perennial_server::Listeners;
use tokio::net::TcpListener;
use tonic::transport::{Channel, Endpoint};

pub(crate) type Client = WorkflowServiceClient<Channel>;

/// The namespaces of the test server.
pub(crate) const NAMESPACES: [&str; 2] = ["default", "other"];

/// A client of a new server, which runs until the end of the test.
pub(crate) async fn client() -> Client {
    serving(config(Storage::Memory)).await.0
}

/// A client of a server on a store that exists.
pub(crate) async fn client_of(store: Arc<dyn Store>) -> Client {
    serving(config(Storage::Store(store))).await.0
}

/// The configuration of a server with these namespaces.
pub(crate) fn config(storage: Storage) -> Config {
    Config { namespaces: NAMESPACES.map(str::to_owned).into(), ..Config::new(storage) }
}

/// A client of a server, and the runtime behind it.
pub(crate) async fn serving(config: Config) -> (Client, Runtime) {
    let perennial = Perennial::open(config).await.unwrap();
    let runtime = perennial.runtime().clone();
    let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = grpc.local_addr().unwrap();
    let listeners = Listeners::tcp(grpc, None);
    let shutdown = std::future::pending();
    tokio::spawn(async move { perennial.serve(listeners, shutdown).await });
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    (WorkflowServiceClient::new(endpoint.connect().await.unwrap()), runtime)
}

pub(crate) fn queue() -> Option<TaskQueue> {
    Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() })
}

/// The start of a workflow, in the namespace `default`.
pub(crate) fn start(workflow_id: &str) -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: queue(),
        request_id: format!("start {workflow_id}"),
        ..StartWorkflowExecutionRequest::default()
    }
}

/// A schedule without times, in the namespace `default`.
pub(crate) fn schedule(schedule_id: &str) -> CreateScheduleRequest {
    let workflow = NewWorkflowExecutionInfo {
        workflow_id: "scheduled".to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: queue(),
        ..NewWorkflowExecutionInfo::default()
    };
    CreateScheduleRequest {
        namespace: "default".to_owned(),
        schedule_id: schedule_id.to_owned(),
        schedule: Some(Schedule {
            spec: Some(ScheduleSpec::default()),
            action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
            ..Schedule::default()
        }),
        request_id: format!("create {schedule_id}"),
        ..CreateScheduleRequest::default()
    }
}
