//! Memory limit for the waiting tasks of all queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tasks of one queue in memory, at most.
const TASKS_MAX: usize = 10_000;
/// Bytes of tasks that a queue may keep even when the other queues use the whole limit.
const BYTES_MIN: usize = 16 * 1024;

/// Memory used by waiting tasks. Clones share the count.
#[derive(Debug, Clone)]
pub(super) struct BacklogMemory {
    bytes_max: usize,
    bytes: Arc<AtomicUsize>,
}

impl BacklogMemory {
    pub(super) fn of(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: Arc::default() }
    }

    pub(super) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether a queue of this size has to evict tasks. One queue gets a quarter of the limit at most.
    pub(super) fn is_exceeded(&self, tasks: usize, bytes: usize) -> bool {
        let is_short = self.bytes.load(Ordering::Relaxed) > self.bytes_max;
        tasks > TASKS_MAX || bytes > self.bytes_max / 4 || (is_short && bytes > BYTES_MIN)
    }
}
