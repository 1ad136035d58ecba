//! Since when a cell has evaluated its schedules without a gap.
//!
//! A time that falls due while nothing evaluates its schedule is missed, however short the outage, and the catch-up
//! mode decides about it. A slow turn is no gap: the cell is at work, and comes to what was due meanwhile.

use std::time::Duration;

use perennial_engine::Time;
use perennial_engine::schedule::Evaluated;

use super::Surroundings;
use crate::Evaluation;
use crate::clock::Monotonic;

/// A cell that takes its next turn this much later than it meant to was away: the machine was suspended, the process
/// was stopped, or the store took no writes.
const GAP: Duration = Duration::from_secs(5);

/// See the module's documentation.
pub(super) struct Attendance {
    since: Time,
    /// When the cell means to take its next turn, by the clock that goes on while the machine is suspended.
    due_back: Option<Monotonic>,
    /// How long the machine had been suspended at the last turn.
    suspended: Duration,
    evaluation: Evaluation,
}

impl Attendance {
    /// The cell begins to evaluate now.
    pub(super) fn begin(surroundings: &Surroundings, evaluation: Evaluation) -> Self {
        let (since, suspended) = (surroundings.now(), surroundings.suspended());
        Self { since, due_back: None, suspended, evaluation }
    }

    /// The cell takes no turn for so long, unless something arrives. A cell that is away stays so.
    pub(super) fn leave(&mut self, surroundings: &Surroundings, wait: Duration) {
        let due_back = || surroundings.monotonic().after(wait);
        self.due_back.get_or_insert_with(due_back);
    }

    /// How long until the cell means to take its next turn.
    pub(super) fn remaining(&self, surroundings: &Surroundings) -> Duration {
        let remaining = |due_back: Monotonic| due_back.since(surroundings.monotonic());
        self.due_back.map_or(Duration::MAX, remaining)
    }

    /// The cell takes a turn in which what is due gets its verdict.
    pub(super) fn attend(&mut self, surroundings: &Surroundings) {
        let turn_at = surroundings.monotonic();
        let overdue = turn_at.since(self.due_back.take().unwrap_or(turn_at));
        let suspended_before = std::mem::replace(&mut self.suspended, surroundings.suspended());
        let gap = overdue.max(self.suspended.saturating_sub(suspended_before));
        let now = surroundings.now();
        if gap > GAP {
            tracing::warn!(
                seconds = gap.as_secs(),
                "schedules weren't evaluated for a while: times that were due meanwhile count as missed"
            );
            self.since = now;
        }
        // Times that come while the clock is behind, because it was put back, are evaluated too.
        self.since = self.since.min(now);
    }

    /// What decisions about schedules have to know.
    pub(super) fn evaluated(&self) -> Evaluated {
        match self.evaluation {
            Evaluation::ByItself => Evaluated::Since(self.since),
            Evaluation::OnDemand => Evaluated::OnDemand,
        }
    }
}
