//! Schedules that fire every second: lag until a worker receives each run.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::spec::{AT_ONCE, create_all, every_second, now_seconds, since_1970, sleep_until};
use super::worker::Worker;
use super::{at, connect};
use crate::cost::Cost;

/// A server that makes fewer a second than this isn't ready when the first time comes, and that is said.
const CREATED_A_SECOND: u64 = 40;
/// Before the first time, besides.
const READY: u64 = 3;
/// What a worker hears of so long after the last time still counts.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn run(address: &str, schedules: u64, seconds: u64, server: u32) -> Value {
    let service = connect(address).await;
    // A worker has a connection of its own, as another process would.
    let mut worker = Worker::start(&connect(address).await);
    let first = now_seconds() + READY + schedules / CREATED_A_SECOND;
    let last = first + seconds - 1;
    let spec = every_second(Some(first), Some(last));
    create_all(&service, AT_ONCE, schedules, spec, None).await;
    let created_late = now_seconds() >= first;

    sleep_until(first).await;
    let before = Cost::of(server);
    let ends = tokio::time::Instant::now() + Duration::from_secs(seconds) + PATIENCE;
    let expected = schedules * seconds;
    let mut heard = HashSet::new();
    let mut lags = Vec::new();
    while (heard.len() as u64) < expected {
        let Ok(received) = tokio::time::timeout_at(ends, worker.received.recv()).await else {
            break;
        };
        let received = received.expect("the worker works on");
        if heard.insert((received.schedule_id, received.nominal)) {
            let lag = since_1970(received.at).as_secs_f64() - received.nominal as f64;
            lags.push(lag * 1_000.0);
        }
    }
    let cost = Cost::of(server).minus(before);
    lags.sort_unstable_by(f64::total_cmp);
    json!({
        "expected": expected,
        "fired": lags.len(),
        "created_late": created_late,
        "p50_ms": at(&lags, 0.5),
        "p99_ms": at(&lags, 0.99),
        "max_ms": lags.last(),
        "server_cpu_ms": cost.cpu.as_secs_f64() * 1_000.0 / lags.len().max(1) as f64,
        "server_rss_mb": cost.resident_bytes as f64 / 1e6,
    })
}
