//! Peak memory of a server under loads with large payloads.
//!
//! `load <host:port> memory <at once> <waiting tasks> <process id of the server>` starts a thousand runs with 1.9 MB
//! of input each, then workflows that no worker takes, then so many large starts at once; and says after each what
//! the server held at most.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::common::v1::{Payload, Payloads, WorkflowType};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflowservice::v1::StartWorkflowExecutionRequest;
use temporalio_common::protos::temporal::api::workflowservice::v1::workflow_service_client::WorkflowServiceClient;
use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;

use crate::Load;

type Service = WorkflowServiceClient<Channel>;

const LARGE: usize = 1_900_000;
const LARGE_RUNS: u64 = 1_000;
/// Callers that start the runs and the tasks. They wait and ask again when they are refused.
const CALLERS: usize = 16;
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(20);

pub(crate) async fn run(address: &str, load: Load) -> Value {
    let peak = || peak_bytes(load.server) as f64 / 1e6;
    let idle = peak();
    start_all(address, "large", LARGE_RUNS, LARGE).await;
    let large = peak();
    start_all(address, "small", load.amount, 10).await;
    let small = peak();
    let (served, refused) = start_at_once(address, load.at_once).await;
    // One more, when there is room again: the server is none the worse for it.
    start_all(address, "last", 1, LARGE).await;
    json!({
        "idle_mb": idle,
        "large_runs": LARGE_RUNS,
        "large_runs_mb": large,
        "tasks": LARGE_RUNS + load.amount,
        "tasks_mb": small,
        "at_once": load.at_once,
        "at_once_mb": peak(),
        "served": served,
        "refused": refused,
    })
}

/// Starts so many workflows, and again those that are refused for now.
async fn start_all(address: &str, prefix: &'static str, count: u64, bytes: usize) {
    let next = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (mut service, next) = (connect(address).await, Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                while !start(&mut service, format!("{prefix}-{number}"), bytes).await {
                    tokio::time::sleep(ASK_AGAIN_AFTER).await;
                }
            }
        });
    }
    callers.join_all().await;
}

/// How many of so many large starts at once, each over its own connection, are served and how many refused.
async fn start_at_once(address: &str, count: usize) -> (usize, usize) {
    let mut callers = JoinSet::new();
    for number in 0..count {
        let mut service = connect(address).await;
        callers.spawn(async move { start(&mut service, format!("at-once-{number}"), LARGE).await });
    }
    let served = callers.join_all().await.into_iter().filter(|is_served| *is_served).count();
    (served, count - served)
}

/// Whether the server took it; else it had no room.
async fn start(service: &mut Service, id: String, bytes: usize) -> bool {
    let payload = Payload { data: vec![7; bytes], ..Default::default() };
    let request = StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: id.clone(),
        workflow_type: Some(WorkflowType { name: "Wait".to_owned() }),
        task_queue: Some(TaskQueue { name: "memory".to_owned(), ..Default::default() }),
        input: Some(Payloads { payloads: vec![payload] }),
        request_id: id,
        ..Default::default()
    };
    match service.start_workflow_execution(request).await {
        Ok(_) => true,
        Err(status) if status.code() == Code::ResourceExhausted => false,
        Err(status) => panic!("the workflow doesn't start: {status}"),
    }
}

async fn connect(address: &str) -> Service {
    Service::connect(format!("http://{address}")).await.expect("the server answers")
}

/// The most that a process has held so far.
fn peak_bytes(process: u32) -> u64 {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {path}: {error}"));
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<u64> = line.and_then(|it| it.split_whitespace().next()?.parse().ok());
    kib.expect("the kernel says how much it was") * 1024
}
