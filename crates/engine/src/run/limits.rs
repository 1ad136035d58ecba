//! Limits of a run: sizes, counts and times.

use crate::Span;

/// Limits on sizes, counts and times. The defaults are those that Temporal documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Bytes of one payload, or of all payloads of one field.
    pub payload_bytes: usize,
    /// Bytes of all memo fields.
    pub memo_bytes: usize,
    /// Bytes of a workflow task completion's pages, all but the last.
    pub completion_bytes: usize,
    /// Bytes of memory for such pages, of all runs in a cell.
    pub pages_bytes: usize,
    /// Bytes of any id or name.
    pub id_bytes: usize,
    /// Events in a history before the run is terminated.
    pub history_events: i64,
    /// Bytes in a history before the run is terminated.
    pub history_bytes: i64,
    /// The operator is warned each time a history has grown by this many events.
    pub warn_events: i64,
    /// The operator is warned each time a history has grown by this many bytes.
    pub warn_bytes: i64,
    /// Events after which a workflow is advised to continue as new.
    pub suggest_continue_events: i64,
    /// Bytes after which a workflow is advised to continue as new.
    pub suggest_continue_bytes: i64,
    /// Pending activities, children, external signals and external cancel requests, each.
    pub pending: usize,
    /// Consecutive workflow task failures before lists report them; 0 for never.
    pub reported_task_failures: i64,
    /// Signals that a run accepts in its life.
    pub signals: i64,
    /// Updates that a run accepts in its life.
    pub updates: usize,
    /// Updates of a run without an outcome.
    pub updates_in_flight: usize,
    /// How long a task waits for the sticky worker, unless the worker says otherwise.
    pub sticky_wait: Span,
    /// The default workflow task timeout.
    pub workflow_task_timeout: Span,
    /// The longest workflow task timeout.
    pub workflow_task_timeout_max: Span,
    /// The least time between the first workflow tasks of successive runs in a chain. It slows down a workflow that
    /// continues as new in a loop.
    pub chain_interval_min: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes: 2 * 1024 * 1024,
            memo_bytes: 2 * 1024 * 1024,
            completion_bytes: 40 * 1024 * 1024,
            pages_bytes: 256 * 1024 * 1024,
            id_bytes: 1000,
            history_events: 50_000,
            history_bytes: 50 * 1024 * 1024,
            warn_events: 10_000,
            warn_bytes: 10 * 1024 * 1024,
            suggest_continue_events: 4 * 1024,
            suggest_continue_bytes: 4 * 1024 * 1024,
            pending: 50_000,
            reported_task_failures: 5,
            signals: 10_000,
            updates: 2_000,
            updates_in_flight: 10,
            sticky_wait: Span::seconds(10),
            workflow_task_timeout: Span::seconds(10),
            workflow_task_timeout_max: Span::seconds(120),
            chain_interval_min: Span::seconds(1),
        }
    }
}
