//! Messages that can't be read, or not by those who get them later.

use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::workflowservice::v1::StartWorkflowExecutionRequest;
use prost::Message;
use tonic::Code;

use crate::scene::{Scene, WORKFLOW_SERVICE, call};

#[tokio::test(flavor = "multi_thread")]
async fn failure_that_clients_could_not_decode_is_refused() {
    let scene = Scene::new().await;
    let with_failure = |depth: usize| {
        let mut failure = Failure::default();
        for _ in 1..depth {
            failure = Failure { cause: Some(Box::new(failure)), ..Failure::default() };
        }
        let mut request = start("w");
        request.continued_failure = Some(failure);
        request
    };
    for (depth, words) in [(81, "continuedFailure has more than 80 causes"), (500, "recursion")] {
        let refusal = scene.ask("StartWorkflowExecution", &with_failure(depth)).await;
        assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal}");
        assert!(refusal.message().contains(words), "{refusal}");
    }
    let taken = scene.ask("StartWorkflowExecution", &with_failure(80)).await;
    assert_eq!(taken.code(), Code::Ok, "{taken}");
    let (code, _) = scene.get("/api/v1/namespaces/default/workflows/w/history").await;
    assert_eq!(code, 200);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_message_are_not_to_be_sent_again() {
    let scene = Scene::new().await;
    let path = format!("/{WORKFLOW_SERVICE}/StartWorkflowExecution");
    let cut = start("w").encode_to_vec();
    for bytes in [&cut[..cut.len() - 1], &[0xff; 100], b"\x0a\x02\xff\xfe"] {
        let refusal = call(scene.channel().await, &path, bytes, None).await;
        assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal}");
    }
    scene.stop().await;
}

fn start(workflow_id: &str) -> StartWorkflowExecutionRequest {
    use perennial_proto::temporal::common::v1::WorkflowType;
    use perennial_proto::temporal::taskqueue::v1::TaskQueue;
    StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() }),
        ..StartWorkflowExecutionRequest::default()
    }
}
