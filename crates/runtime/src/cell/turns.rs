//! Whose turn it is: what is due by the clock, or what workers have answered.
//!
//! A thousand schedules that are due at the same instant are a thousand runs to start, and workers have done
//! with the first ones while the last still wait. What came first goes first: an answer waits for what was due
//! before it came. So the last one due is heard of as soon as it can be, and answers are taken
//! together afterwards.

use std::collections::VecDeque;

use perennial_engine::Time;
use perennial_engine::run::Command;

use super::request::{Incoming, Request, RunRequest};
use super::{Cell, Effects, World};

/// Due wake-ups handled in a first step: few, so that workers have something to do while the cell goes on.
const SMALL_BATCH: usize = 16;
/// Each later step handles twice as many, up to this number. A larger batch costs less for each wake-up, but workers
/// wait for its commit.
const LARGE_BATCH: usize = 32;
/// Answers handled in a step once nothing is due.
const ANSWERS_AT_ONCE: usize = 64;

/// What waits for its turn.
pub(super) struct Turns {
    /// Answers, and when they came.
    answers: VecDeque<(Time, Incoming)>,
    /// How many of those due are handled in the next step.
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

    /// All that waits: the cell is over.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Incoming> {
        std::mem::take(&mut self.answers).into_iter().map(|(_, incoming)| incoming)
    }

    fn take_answer_before(&mut self, due: Time) -> Option<Incoming> {
        self.answers.front().filter(|(came, _)| *came < due)?;
        self.answers.pop_front().map(|(_, incoming)| incoming)
    }
}

impl Cell {
    /// Handles a request, at once or when it is its turn.
    pub(super) fn ask_in_turn(
        &mut self,
        incoming: Incoming,
        world: &World<'_>,
        effects: &mut Effects,
    ) {
        if self.has_turns_to_take(world) && is_answer(&incoming.request) {
            self.turns.answers.push_back((world.now, incoming));
        } else {
            self.ask(incoming, world, effects);
        }
    }

    /// Whether something is due, or answers wait for what was.
    pub(super) fn has_turns_to_take(&self, world: &World<'_>) -> bool {
        !self.turns.is_empty() || self.wakes.first_due(world.now).is_some()
    }

    /// Handles what is due, or if nothing is, the answers that waited for it.
    pub(super) fn take_turns(&mut self, world: &World<'_>, effects: &mut Effects) {
        if self.wakes.first_due(world.now).is_none() {
            self.turns.at_once = SMALL_BATCH;
            let count = self.turns.answers.len().min(ANSWERS_AT_ONCE);
            let answers: Vec<_> = self.turns.answers.drain(..count).collect();
            for (_, answer) in answers {
                self.ask(answer, world, effects);
            }
            return;
        }
        for _ in 0..self.turns.at_once {
            // One that has much to catch up with sends much.
            if self.mail.is_enough() {
                break;
            }
            let Some(due) = self.wakes.first_due(world.now) else { break };
            while let Some(answer) = self.turns.take_answer_before(due) {
                self.ask(answer, world, effects);
            }
            self.wake_first(world, effects);
        }
        self.turns.at_once = (2 * self.turns.at_once).min(LARGE_BATCH);
    }
}

/// Whether a worker says what came of a task.
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
