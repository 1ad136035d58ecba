//! Polls, disconnected clients, and shutdown.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::test_server::{TestServer, read};

const RPC: &str = "/api/v1/rpc/temporal.api.workflowservice.v1.WorkflowService";

#[tokio::test(flavor = "multi_thread")]
async fn poll_of_a_disconnected_client_takes_no_task() {
    let server = TestServer::new().await;
    let poll = json!({"namespace": "default", "taskQueue": {"name": "queue"}});
    let poll_path = format!("{RPC}/PollWorkflowTaskQueue");
    let gone = server.send("POST", &poll_path, &[], &poll.to_string()).await;
    let described = || async {
        let path = "/api/v1/namespaces/default/task-queues/queue?taskQueueType=1";
        server.get(path).await.done()
    };
    // The server has received the poll.
    while described().await.get("pollers").is_none() {
        tokio::task::yield_now().await;
    }
    drop(gone);
    server.start("w", json!({})).await;
    let task = server.post(&poll_path, poll).await.done();
    assert_eq!(task["workflowExecution"]["workflowId"], "w");
    // The canceled poll didn't take the task.
    let history = server.get("/api/v1/namespaces/default/workflows/w/history").await;
    assert!(!history.body.contains("TIMED_OUT"), "{}", history.body);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_poll_gets_an_empty_response_at_shutdown() {
    let server = TestServer::new().await;
    let poll = json!({"namespace": "default", "taskQueue": {"name": "queue"}}).to_string();
    let path = format!("{RPC}/PollActivityTaskQueue");
    let mut polling = server.send("POST", &path, &[], &poll).await;
    while server
        .get("/api/v1/namespaces/default/task-queues/queue?taskQueueType=2")
        .await
        .done()
        .get("pollers")
        .is_none()
    {
        tokio::task::yield_now().await;
    }
    server.stop().await;
    let answer = read(&mut polling).await;
    assert_eq!((answer.code, answer.body.as_str()), (200, "{}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connection_does_not_delay_the_shutdown() {
    let server = TestServer::patient().await;
    let silent = TcpStream::connect(server.address).await.unwrap();
    let mut half = TcpStream::connect(server.address).await.unwrap();
    half.write_all(b"GET /api/v1/sys").await.unwrap();
    let mut kept = TcpStream::connect(server.address).await.unwrap();
    kept.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    kept.read_exact(&mut [0; 100]).await.unwrap();
    // Otherwise the server would wait for the timeout of an incomplete request, thirty seconds.
    let stopped = tokio::time::timeout(Duration::from_secs(20), server.stop()).await;
    stopped.expect("the server ends");
    drop((silent, half, kept));
}
