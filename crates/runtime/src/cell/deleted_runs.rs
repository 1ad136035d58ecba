//! Runs that were deleted a short while ago.
//!
//! A message that starts a run may arrive twice, from a node that delivered it and was then replaced. The second
//! delivery is recognised by the run it started. If that run was deleted meanwhile, it is recognised here: nodes refuse
//! deliveries that took longer than the memory lasts.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::clock::Monotonic;

/// How long a deleted run is remembered: longer than a delivery may take.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);

/// More than are deleted in that time. Beyond it the oldest are forgotten.
const RUNS_MAX: usize = 100_000;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct DeletedRuns {
    by_time: VecDeque<(Monotonic, String)>,
    run_ids: HashSet<String>,
}

impl DeletedRuns {
    pub(super) fn add(&mut self, run_id: String, now: Monotonic) {
        self.forget_old(now);
        if self.run_ids.insert(run_id.clone()) {
            self.by_time.push_back((now, run_id));
        }
    }

    pub(super) fn contains(&self, run_id: &str) -> bool {
        self.run_ids.contains(run_id)
    }

    fn forget_old(&mut self, now: Monotonic) {
        let is_old = |(at, _): &(Monotonic, String)| now.since(*at) >= REMEMBERED_FOR;
        while self.by_time.front().is_some_and(is_old) || self.by_time.len() >= RUNS_MAX {
            if let Some((_, run_id)) = self.by_time.pop_front() {
                self.run_ids.remove(&run_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Monotonic {
        Monotonic::at(Duration::from_secs(seconds))
    }

    #[test]
    fn run_is_remembered_for_a_while() {
        let mut deleted = DeletedRuns::default();
        deleted.add("a".to_owned(), at(100));
        deleted.add("b".to_owned(), at(129));
        assert!(deleted.contains("a") && deleted.contains("b"));
        deleted.add("c".to_owned(), at(130));
        assert!(!deleted.contains("a") && deleted.contains("b"));
    }

    #[test]
    fn memory_is_bounded() {
        let mut deleted = DeletedRuns::default();
        for number in 0..=RUNS_MAX {
            deleted.add(number.to_string(), at(1));
        }
        assert_eq!(deleted.run_ids.len(), RUNS_MAX);
        assert!(!deleted.contains("0") && deleted.contains("1"));
    }
}
