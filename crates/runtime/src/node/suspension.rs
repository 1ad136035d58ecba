//! A cell whose store takes no writes: the disk is full, or a commit failed and no new lease is to be had.
//!
//! Nothing that isn't durable has happened, so the cell has begun anew from the store and reads. Whoever wants to
//! write is told at once why that can't be. What nobody waits for is kept until the store takes writes again.

use std::time::{Duration, Instant};

use perennial_engine::SlotRange;
use perennial_store::Error;

use crate::Refusal;
use crate::cell::{Incoming, Input, ReplyTo};

/// The store is tried again after this long, then after twice that, and so on.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// More than the polls of one node, and what is lost beyond it is done again when its task times out.
const HELD_MAX: usize = 100_000;

/// See the module's documentation.
pub(super) struct Suspension {
    why: Error,
    since: Instant,
    retry_delay: Duration,
    retry_at: Instant,
    held: Vec<Input>,
}

impl Suspension {
    pub(super) fn because(cell: SlotRange, why: Error) -> Self {
        tracing::error!(
            %cell, error = %why,
            "the store takes no writes: they are refused and reads are served until it does"
        );
        let now = Instant::now();
        let (retry_delay, retry_at) = (RETRY_FIRST, now + RETRY_FIRST);
        Self { why, since: now, retry_delay, retry_at, held: Vec::new() }
    }

    /// How long until the store is to be tried again.
    pub(super) fn wait(&self) -> Duration {
        self.retry_at.saturating_duration_since(Instant::now())
    }

    /// The store was tried in vain.
    pub(super) fn go_on(&mut self, why: Error) {
        self.why = why;
        self.retry_delay = (2 * self.retry_delay).min(RETRY_MAX);
        self.retry_at = Instant::now() + self.retry_delay;
    }

    /// The store takes writes again: what was kept.
    pub(super) fn end(self, cell: SlotRange) -> Vec<Input> {
        let seconds = self.since.elapsed().as_secs_f32();
        tracing::info!(%cell, after_seconds = seconds, "the store takes writes again");
        self.held
    }

    /// Of what has arrived, what can be done without writing. The rest is refused, or kept.
    pub(super) fn let_through(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        inputs.into_iter().filter_map(|input| self.readable(input)).collect()
    }

    fn readable(&mut self, input: Input) -> Option<Input> {
        match input {
            Input::Loaded { .. } => Some(input),
            // Everything that is due is read when the cell begins anew.
            Input::WakesLoaded { .. } | Input::WakesUnread => None,
            Input::Asked(incoming) if incoming.request.is_read() => Some(Input::Asked(incoming)),
            Input::Asked(incoming) => {
                let Incoming { request, reply } = *incoming;
                match reply {
                    ReplyTo::Nobody if self.held.len() < HELD_MAX => {
                        let reply = ReplyTo::Nobody;
                        self.held.push(Input::Asked(Box::new(Incoming { request, reply })));
                    }
                    reply => reply.send(Err(Refusal::from(self.why.clone()))),
                }
                None
            }
        }
    }
}
