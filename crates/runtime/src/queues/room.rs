//! How much of the backlog of all queues is in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tasks of one queue in memory.
const TASKS_MAX: usize = 10_000;
/// A queue keeps so many bytes of tasks even if others take all there is.
const BYTES_LEAST: usize = 16 * 1024;

/// Memory that all queues share. Clones count together.
#[derive(Debug, Clone)]
pub(super) struct Room {
    bytes_max: usize,
    bytes: Arc<AtomicUsize>,
}

impl Room {
    pub(super) fn of(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: Arc::default() }
    }

    pub(super) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether a queue with so much has too much. One queue never takes more than a quarter of all.
    pub(super) fn is_exceeded(&self, tasks: usize, bytes: usize) -> bool {
        let is_short = self.bytes.load(Ordering::Relaxed) > self.bytes_max;
        tasks > TASKS_MAX || bytes > self.bytes_max / 4 || (is_short && bytes > BYTES_LEAST)
    }
}
