//! Messages that the server, or later their readers, can't decode.

use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::workflowservice::v1::StartWorkflowExecutionRequest;
use prost::Message;
use tonic::Code;

use crate::hostile::test_server::{TestServer, WORKFLOW_SERVICE, call};

#[tokio::test(flavor = "multi_thread")]
async fn failure_that_clients_could_not_decode_is_refused() {
    let server = TestServer::new().await;
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
        let refusal = server.ask("StartWorkflowExecution", &with_failure(depth)).await;
        assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal}");
        assert!(refusal.message().contains(words), "{refusal}");
    }
    let taken = server.ask("StartWorkflowExecution", &with_failure(80)).await;
    assert_eq!(taken.code(), Code::Ok, "{taken}");
    let (code, _) = server.get("/api/v1/namespaces/default/workflows/w/history").await;
    assert_eq!(code, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_message_gets_a_code_that_clients_do_not_retry() {
    let server = TestServer::new().await;
    let path = format!("/{WORKFLOW_SERVICE}/StartWorkflowExecution");
    let cut = start("w").encode_to_vec();
    for bytes in [&cut[..cut.len() - 1], &[0xff; 100], b"\x0a\x02\xff\xfe"] {
        let refusal = call(server.channel().await, &path, bytes, None).await;
        assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal}");
    }
    server.stop().await;
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
