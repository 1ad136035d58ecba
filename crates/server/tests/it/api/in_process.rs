//! Calls without a listener, as code in the same process makes them.

use perennial_engine::{NamespaceKey, Slot};
use perennial_library::{Config, Perennial, Storage};
use perennial_proto::temporal::workflowservice::v1::{
    PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse, StartWorkflowExecutionResponse,
};
use perennial_server::{CallContext, Destination, Services};
use prost::Message;
use tonic::Code;

use crate::api::test_server::{queue, start};

const SERVICE: &str = "/temporal.api.workflowservice.v1.WorkflowService";

async fn services() -> Services {
    let perennial = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
    perennial.services().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn rpc_is_called_with_bytes_and_answers_with_bytes() {
    let services = services().await;
    let call = async |rpc: &str, message: Vec<u8>| {
        let path = format!("{SERVICE}/{rpc}");
        services.call(&path, CallContext::in_process(), message.into()).await
    };
    let started = call("StartWorkflowExecution", start("order-7").encode_to_vec()).await.unwrap();
    let started = StartWorkflowExecutionResponse::decode(started).unwrap();
    let poll = PollWorkflowTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: queue(),
        ..PollWorkflowTaskQueueRequest::default()
    };
    let task = call("PollWorkflowTaskQueue", poll.encode_to_vec()).await.unwrap();
    let task = PollWorkflowTaskQueueResponse::decode(task).unwrap();
    assert_eq!(task.workflow_execution.unwrap().run_id, started.run_id);

    assert_eq!(call("Nothing", vec![]).await.unwrap_err().code(), Code::Unimplemented);
    let noise = call("StartWorkflowExecution", vec![0xff]).await.unwrap_err();
    assert_eq!(noise.code(), Code::InvalidArgument);
    let large = call("StartWorkflowExecution", vec![0; 5 * 1024 * 1024]).await.unwrap_err();
    assert_eq!(large.code(), Code::ResourceExhausted);
}

#[tokio::test(flavor = "multi_thread")]
async fn poll_ends_when_the_services_stop() {
    let services = services().await;
    let poll = PollWorkflowTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: queue(),
        ..PollWorkflowTaskQueueRequest::default()
    };
    services.stop();
    let path = format!("{SERVICE}/PollWorkflowTaskQueue");
    let context = CallContext::in_process();
    let empty = services.call(&path, context, poll.encode_to_vec().into()).await.unwrap();
    assert!(PollWorkflowTaskQueueResponse::decode(empty).unwrap().task_token.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn call_is_routed_to_the_slot_of_its_workflow() {
    let services = services().await;
    let namespace = services.runtime().namespaces().by_name("default").unwrap().key;
    let route = |rpc: &str, message: Vec<u8>| services.route(&format!("{SERVICE}/{rpc}"), &message);
    let slot = Slot::of(NamespaceKey(namespace), "order-7");
    let start = start("order-7").encode_to_vec();
    assert_eq!(route("StartWorkflowExecution", start), Some(Destination::Slot(slot)));
    assert_eq!(route("GetSystemInfo", vec![]), Some(Destination::AnyNode));
    assert_eq!(route("ShutdownWorker", vec![]), Some(Destination::EveryNode));
    assert_eq!(route("Nothing", vec![]), None);
}
