//! A cell whose store takes no writes: the disk is full, or a commit failed and the store gives no new lease.
//!
//! The cell has restarted from durable state and serves reads. Client writes fail immediately with the reason. Internal
//! requests without a caller are deferred until the store takes writes again.

use std::time::{Duration, Instant};

use perennial_engine::SlotRange;
use perennial_store::Error;

use crate::Refusal;
use crate::cell::{Input, ReplyTo};

/// First retry delay. It doubles up to `RETRY_MAX`.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Deferred requests: more than the polls of one node. A request dropped beyond it is repeated when its task times out.
const DEFERRED_MAX: usize = 100_000;

/// See the module's documentation.
pub(super) struct Suspension {
    why: Error,
    since: Instant,
    retry_delay: Duration,
    retry_at: Instant,
    deferred: Vec<Input>,
}

impl Suspension {
    pub(super) fn start(cell: SlotRange, why: Error) -> Self {
        tracing::error!(
            %cell, error = %why,
            "the store takes no writes: they are refused and reads are served until it does"
        );
        let now = Instant::now();
        let (retry_delay, retry_at) = (RETRY_FIRST, now + RETRY_FIRST);
        Self { why, since: now, retry_delay, retry_at, deferred: Vec::new() }
    }

    /// Time until the next retry.
    pub(super) fn wait(&self) -> Duration {
        self.retry_at.saturating_duration_since(Instant::now())
    }

    /// A retry failed: the next delay is longer.
    pub(super) fn retry_failed(&mut self, why: Error) {
        self.why = why;
        self.retry_delay = (2 * self.retry_delay).min(RETRY_MAX);
        self.retry_at = Instant::now() + self.retry_delay;
    }

    /// The store takes writes again. Returns the deferred inputs.
    pub(super) fn end(self, cell: SlotRange) -> Vec<Input> {
        let seconds = self.since.elapsed().as_secs_f32();
        tracing::info!(%cell, after_seconds = seconds, "the store takes writes again");
        self.deferred
    }

    /// Returns the inputs that need no write. Refuses or defers the others.
    pub(super) fn admit_reads(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        inputs.into_iter().filter_map(|input| self.admit_read(input)).collect()
    }

    fn admit_read(&mut self, input: Input) -> Option<Input> {
        match input {
            Input::Loaded { .. } => Some(input),
            // The restarted cell reads all due wake-ups.
            Input::WakesLoaded { .. } | Input::WakesReadFailed => None,
            Input::Asked(incoming) if incoming.request.is_read() => Some(Input::Asked(incoming)),
            Input::Asked(incoming) => {
                match incoming.reply {
                    ReplyTo::Nobody if self.deferred.len() < DEFERRED_MAX => {
                        self.deferred.push(Input::Asked(incoming));
                    }
                    reply => reply.send(Err(Refusal::from(self.why.clone()))),
                }
                None
            }
        }
    }
}
