//! Orders due wake-ups and workers' responses by time.
//!
//! When a thousand schedules are due at the same instant, workers complete tasks of the first runs while the last
//! runs wait for their start. A response waits until wake-ups that were due before it are handled. So the last
//! run starts as early as possible, and responses are handled together afterwards.

use std::collections::VecDeque;

use perennial_engine::Time;
use perennial_engine::run::Command;

use super::request::{Incoming, Request, RunRequest};
use super::{Cell, StepContext, StepResult};

/// Due wake-ups handled in a first step: few, so that workers get tasks early.
const SMALL_BATCH: usize = 16;
/// Each later step handles twice as many, up to this number. A larger batch costs less for each wake-up, but workers
/// wait for its commit.
const LARGE_BATCH: usize = 32;
/// Responses handled in a step once nothing is due.
const RESPONSES_PER_STEP: usize = 64;

/// Waiting responses, and the size of the next step.
pub(super) struct Turns {
    /// Responses with their arrival times.
    answers: VecDeque<(Time, Incoming)>,
    /// Due wake-ups to handle in the next step.
    at_once: usize,
}

impl Default for Turns {
    fn default() -> Self {
        Self { answers: VecDeque::new(), at_once: SMALL_BATCH }
    }
}

impl Turns {
    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Returns all waiting responses when the cell ends.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Incoming> {
        std::mem::take(&mut self.answers).into_iter().map(|(_, incoming)| incoming)
    }

    fn take_answer_before(&mut self, due: Time) -> Option<Incoming> {
        self.answers.front().filter(|(came, _)| *came < due)?;
        self.answers.pop_front().map(|(_, incoming)| incoming)
    }
}

impl Cell {
    /// Handles a request now, or queues a response behind due wake-ups.
    pub(super) fn ask_in_turn(
        &mut self,
        incoming: Incoming,
        world: &StepContext<'_>,
        result: &mut StepResult,
    ) {
        if self.has_turns_to_take(world) && is_answer(&incoming.request) {
            self.turns.answers.push_back((world.now, incoming));
        } else {
            self.ask(incoming, world, result);
        }
    }

    /// Whether wake-ups are due or responses wait.
    pub(super) fn has_turns_to_take(&self, world: &StepContext<'_>) -> bool {
        !self.turns.is_empty() || self.wakes.first_due(world.now).is_some()
    }

    /// Handles due wake-ups or, if there are none, waiting responses.
    pub(super) fn take_turns(&mut self, world: &StepContext<'_>, result: &mut StepResult) {
        if self.wakes.first_due(world.now).is_none() {
            self.turns.at_once = SMALL_BATCH;
            let count = self.turns.answers.len().min(RESPONSES_PER_STEP);
            let answers: Vec<_> = self.turns.answers.drain(..count).collect();
            for (_, answer) in answers {
                self.ask(answer, world, result);
            }
            return;
        }
        for _ in 0..self.turns.at_once {
            // A schedule that catches up may send many messages.
            if self.local_messages.is_full() {
                break;
            }
            let Some(due) = self.wakes.first_due(world.now) else { break };
            while let Some(answer) = self.turns.take_answer_before(due) {
                self.ask(answer, world, result);
            }
            self.wake_first(world, result);
        }
        self.turns.at_once = (2 * self.turns.at_once).min(LARGE_BATCH);
    }
}

/// Whether the request is a worker's response to a task.
fn is_answer(request: &Request) -> bool {
    matches!(
        request,
        Request::Run {
            ask: RunRequest::Command(
                Command::CompleteWorkflowTask(_)
                    | Command::FailWorkflowTask(_)
                    | Command::ReportActivity(_)
            ),
            ..
        }
    )
}
