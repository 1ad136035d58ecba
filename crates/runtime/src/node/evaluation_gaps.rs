//! Detects gaps in which a cell didn't evaluate its schedules.
//!
//! A time that falls due in a gap is missed, however short the gap, and the catch-up mode decides about it. A slow
//! turn is no gap: the cell is running, and evaluates the due times after it.

use std::time::Duration;

use perennial_engine::Time;
use perennial_engine::schedule::Evaluated;

use super::Environment;
use crate::Evaluation;
use crate::clock::Monotonic;

/// A turn that is later than planned by more than this ends a gap: the machine was suspended, the process was
/// stopped, or the store took no writes.
const GAP_MIN: Duration = Duration::from_secs(5);

/// See the module's documentation.
pub(super) struct EvaluationGaps {
    since: Time,
    /// When the next turn is planned, by a clock that includes suspended time.
    due_back: Option<Monotonic>,
    /// How long the machine had been suspended at the last turn.
    suspended: Duration,
    evaluation: Evaluation,
}

impl EvaluationGaps {
    /// The cell evaluates its schedules from now on.
    pub(super) fn start(environment: &Environment, evaluation: Evaluation) -> Self {
        let (since, suspended) = (environment.now(), environment.suspended());
        Self { since, due_back: None, suspended, evaluation }
    }

    /// The cell waits for inputs, at most this long. An earlier plan stays.
    pub(super) fn plan_next_turn(&mut self, environment: &Environment, wait: Duration) {
        let due_back = || environment.monotonic().after(wait);
        self.due_back.get_or_insert_with(due_back);
    }

    /// Time until the planned next turn.
    pub(super) fn remaining(&self, environment: &Environment) -> Duration {
        let remaining = |due_back: Monotonic| due_back.since(environment.monotonic());
        self.due_back.map_or(Duration::MAX, remaining)
    }

    /// The cell takes a turn that evaluates due schedules. Logs a gap that ends with it.
    pub(super) fn begin_turn(&mut self, environment: &Environment) {
        let turn_at = environment.monotonic();
        let overdue = turn_at.since(self.due_back.take().unwrap_or(turn_at));
        let suspended_before = std::mem::replace(&mut self.suspended, environment.suspended());
        let gap = overdue.max(self.suspended.saturating_sub(suspended_before));
        let now = environment.now();
        if gap > GAP_MIN {
            tracing::warn!(
                seconds = gap.as_secs(),
                "schedules weren't evaluated for a while: times that were due meanwhile count as missed"
            );
            self.since = now;
        }
        // The clock may have been set back: times from there on are evaluated too.
        self.since = self.since.min(now);
    }

    /// Since when schedules are evaluated, for decisions about missed times.
    pub(super) fn evaluated(&self) -> Evaluated {
        match self.evaluation {
            Evaluation::ByItself => Evaluated::Since(self.since),
            Evaluation::OnDemand => Evaluated::OnDemand,
        }
    }
}
