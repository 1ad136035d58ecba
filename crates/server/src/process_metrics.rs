//! Metrics of the process and of its build.

use std::fs;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use perennial_telemetry::{Scrape, table};

use crate::services::Services;
use crate::workflow::SERVER_VERSION;

/// When the first server of the process started, in seconds of Unix time.
static STARTED_AT: LazyLock<f64> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
});

/// Notes the time of the start.
pub(crate) fn start() {
    LazyLock::force(&STARTED_AT);
}

pub(crate) fn collect(services: &Services, scrape: &Scrape) {
    let version = env!("CARGO_PKG_VERSION");
    scrape.add(&table::BUILD_INFO, &[version, SERVER_VERSION], 1.0);
    scrape.add(&table::READY, &[], if services.readiness().is_ok() { 1.0 } else { 0.0 });
    scrape.add(&table::PROCESS_START_TIME, &[], *STARTED_AT);
    if let Some(bytes) = resident_memory() {
        scrape.add(&table::PROCESS_MEMORY, &[], bytes);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        // The directory itself is open too.
        scrape.add(&table::PROCESS_OPEN_FDS, &[], files.count().saturating_sub(1) as f64);
    }
}

/// `None` where the system has no `/proc`.
fn resident_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1_024.0)
}
