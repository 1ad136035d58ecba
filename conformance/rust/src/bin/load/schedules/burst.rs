//! Schedules that are all due in the same second: time until all have started.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::workflowservice::v1::CountWorkflowExecutionsRequest;

use super::spec::{AT_ONCE, create_all, every_second, now_seconds, since_1970, sleep_until};
use super::worker::Worker;
use super::{NAMESPACE, Service, connect};

/// Expected of the server, to choose a time by which everything is there.
const CREATED_A_SECOND: u64 = 1_000;
const READY: u64 = 5;
/// The server is asked this often how many there are: often enough to tell, rarely enough not to matter.
const ASK_EVERY: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn run(address: &str, schedules: u64, with_worker: bool) -> Value {
    let service = connect(address).await;
    let due = now_seconds() + READY + schedules / CREATED_A_SECOND;
    create_all(&service, AT_ONCE, schedules, every_second(Some(due), Some(due)), None).await;
    let created_late = now_seconds() >= due;
    let worker = if with_worker { Some(Worker::start(&connect(address).await)) } else { None };
    sleep_until(due).await;
    let heard = async {
        let mut lags = Vec::new();
        let Some(mut worker) = worker else { return lags };
        while (lags.len() as u64) < schedules {
            let received = tokio::time::timeout(PATIENCE, worker.received.recv()).await;
            let Ok(Some(received)) = received else { break };
            lags.push(since_1970(received.at).as_secs_f64() - due as f64);
        }
        lags
    };
    let ((started, all_started_s), lags) = tokio::join!(counted(service, schedules, due), heard);
    json!({
        "created_late": created_late,
        "started": started,
        "all_started_s": all_started_s,
        "received": lags.len(),
        "all_received_s": lags.last(),
    })
}

/// How many runs the server has in the end, and how long after they were due it had them.
async fn counted(mut service: Service, wanted: u64, due: u64) -> (u64, f64) {
    let ends = tokio::time::Instant::now() + PATIENCE;
    loop {
        let count = CountWorkflowExecutionsRequest {
            namespace: NAMESPACE.to_owned(),
            query: "WorkflowType = 'Scheduled'".to_owned(),
        };
        let counted = service.count_workflow_executions(count).await.expect("the server counts");
        let after = since_1970(SystemTime::now()).as_secs_f64() - due as f64;
        let count = u64::try_from(counted.into_inner().count).unwrap_or_default();
        if count >= wanted || tokio::time::Instant::now() > ends {
            return (count, after);
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}
