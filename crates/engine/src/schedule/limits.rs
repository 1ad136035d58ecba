//! Limits on the number of runs: limited actions, which stop scheduled starts, and the maximum of runs, which
//! deletes the schedule.

use super::Schedule;
use super::decide::delete;
use super::draft::Draft;
use super::ledger::Skip;

/// The delete reason of a schedule that has reached its maximum of runs.
const MAX_RUNS_EXHAUSTED: &str = "max_runs_exhausted";

impl Schedule {
    /// Whether scheduled starts are limited, and used up.
    pub fn is_exhausted(&self) -> bool {
        self.head.limited_actions && self.head.remaining_actions <= 0
    }

    /// The number of runs left until the maximum deletes the schedule, if it has a maximum.
    pub fn remaining_runs(&self) -> Option<i64> {
        let max_runs = self.extensions().max_runs;
        (max_runs > 0).then(|| (max_runs - self.head.action_count).max(0))
    }
}

impl Draft<'_> {
    /// Deletes the schedule if that was the last of its maximum of runs, or skips the buffered starts if its limited
    /// actions are used up.
    pub(crate) fn enforce_run_limits(&mut self) {
        let max_runs = self.schedule.extensions().max_runs;
        if max_runs > 0 && self.schedule.head.action_count >= max_runs {
            delete(self, MAX_RUNS_EXHAUSTED, None);
        } else if self.schedule.is_exhausted() {
            self.skip_scheduled(Skip::Exhausted);
        }
    }
}
