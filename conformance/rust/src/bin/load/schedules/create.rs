//! Idle schedules: creation rate and cost.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::connect;
use super::spec::{create_all, idle};
use crate::cost::Cost;

pub(super) async fn run(
    address: &str,
    at_once: u64,
    schedules: u64,
    seconds_max: u64,
    server: u32,
) -> Value {
    let service = connect(address).await;
    let before = Cost::of(server);
    let began = Instant::now();
    let until = SystemTime::now() + Duration::from_secs(seconds_max);
    let created = create_all(&service, at_once, schedules, idle(), Some(until)).await;
    let seconds = began.elapsed().as_secs_f64();
    let after = Cost::of(server);
    let each = |total: f64| total / created.max(1) as f64;
    let cost = after.minus(before);
    json!({
        "created": created,
        "a_second": created as f64 / seconds,
        "server_cpu_ms": each(cost.cpu.as_secs_f64() * 1_000.0),
        "server_bytes_written": each(cost.bytes_written as f64),
        "rss_mb_before": before.resident_bytes as f64 / 1e6,
        "rss_mb_after": after.resident_bytes as f64 / 1e6,
    })
}
