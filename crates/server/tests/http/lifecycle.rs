//! Polls, clients that go away, and the end.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::scene::{Scene, read};

const RPC: &str = "/api/v1/rpc/temporal.api.workflowservice.v1.WorkflowService";

#[tokio::test(flavor = "multi_thread")]
async fn poll_whose_client_has_gone_takes_no_task() {
    let scene = Scene::new().await;
    let poll = json!({"namespace": "default", "taskQueue": {"name": "queue"}});
    let poll_path = format!("{RPC}/PollWorkflowTaskQueue");
    let gone = scene.send("POST", &poll_path, &[], &poll.to_string()).await;
    let described = || async {
        let path = "/api/v1/namespaces/default/task-queues/queue?taskQueueType=1";
        scene.get(path).await.done()
    };
    // It polls: the server knows of it.
    while described().await.get("pollers").is_none() {
        tokio::task::yield_now().await;
    }
    drop(gone);
    scene.start("w", json!({})).await;
    let task = scene.post(&poll_path, poll).await.done();
    assert_eq!(task["workflowExecution"]["workflowId"], "w");
    // Nor did it take the task and let it time out.
    let history = scene.get("/api/v1/namespaces/default/workflows/w/history").await;
    assert!(!history.body.contains("TIMED_OUT"), "{}", history.body);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn poll_under_way_is_answered_when_the_server_ends() {
    let scene = Scene::new().await;
    let poll = json!({"namespace": "default", "taskQueue": {"name": "queue"}}).to_string();
    let path = format!("{RPC}/PollActivityTaskQueue");
    let mut polling = scene.send("POST", &path, &[], &poll).await;
    while scene
        .get("/api/v1/namespaces/default/task-queues/queue?taskQueueType=2")
        .await
        .done()
        .get("pollers")
        .is_none()
    {
        tokio::task::yield_now().await;
    }
    scene.stop().await;
    let answer = read(&mut polling).await;
    assert_eq!((answer.code, answer.body.as_str()), (200, "{}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_without_a_request_does_not_hold_the_end_up() {
    let scene = Scene::patient().await;
    let silent = TcpStream::connect(scene.address).await.unwrap();
    let mut half = TcpStream::connect(scene.address).await.unwrap();
    half.write_all(b"GET /api/v1/sys").await.unwrap();
    let mut kept = TcpStream::connect(scene.address).await.unwrap();
    kept.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    kept.read_exact(&mut [0; 100]).await.unwrap();
    // Otherwise it would wait until it gives up on half a request, after thirty seconds.
    let stopped = tokio::time::timeout(Duration::from_secs(20), scene.stop()).await;
    stopped.expect("the server ends");
    drop((silent, half, kept));
}
