//! What a decision may know beside the run's own state.

use perennial_calendar::Zones;

use crate::schedule::Evaluated;
use crate::{FreshIds, FreshKeys, Span, Time};

/// The world as far as a decision may see it: all of it is an argument.
#[derive(Debug)]
pub struct Context<'a> {
    /// What time it is.
    pub now: Time,
    /// Where new ids come from.
    pub ids: &'a FreshIds,
    /// Where the keys of new runs and schedules come from.
    pub keys: &'a FreshKeys,
    /// How much is allowed.
    pub limits: &'a Limits,
    /// The zones that cron strings are read in.
    pub zones: &'a Zones,
    /// Who evaluates schedules, and since when.
    pub evaluated: Evaluated,
}

/// How much is allowed. The defaults are those that Temporal documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Bytes of one payload, or of all payloads of one field.
    pub payload_bytes: usize,
    /// Bytes of all memo fields.
    pub memo_bytes: usize,
    /// Bytes of the commands that come before the last page of a workflow task's completion.
    pub completion_bytes: usize,
    /// Bytes of memory that such pages of all runs take in a cell.
    pub pages_bytes: usize,
    /// Bytes of any id or name.
    pub id_bytes: usize,
    /// Events in a history before the run is terminated.
    pub history_events: i64,
    /// Bytes in a history before the run is terminated.
    pub history_bytes: i64,
    /// An operator is warned each time a history has grown by so many events.
    pub warn_events: i64,
    /// An operator is warned each time a history has grown by so many bytes.
    pub warn_bytes: i64,
    /// Events from which on workflows are told to continue as new.
    pub suggest_continue_events: i64,
    /// Bytes from which on workflows are told to continue as new.
    pub suggest_continue_bytes: i64,
    /// Activities, children, external signals and external cancels pending at once, each.
    pub pending: usize,
    /// Workflow tasks that fail in a row before lists tell of them; 0 for never.
    pub reported_task_failures: i64,
    /// Signals a run takes in its life.
    pub signals: i64,
    /// Updates a run takes in its life.
    pub updates: usize,
    /// Updates without an outcome that a run has at once.
    pub updates_in_flight: usize,
    /// How long a task waits for the worker that has the workflow cached, if the worker doesn't say.
    pub sticky_wait: Span,
    /// How long a workflow task may take, if the start doesn't say.
    pub workflow_task_timeout: Span,
    /// The longest workflow task timeout.
    pub workflow_task_timeout_max: Span,
    /// From the first task of a run to that of the run that takes its place, at least: a workflow that
    /// continues as new in a loop doesn't take all there is.
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
