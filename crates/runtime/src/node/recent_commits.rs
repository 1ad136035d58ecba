//! How long the last commits took.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::lock;

/// Commits that are remembered.
const COMMITS_MAX: usize = 1_000;

/// Remembers how long the last commits took. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct RecentCommits(Arc<Mutex<VecDeque<Duration>>>);

/// How long the last commits took, sync included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommitTimes {
    /// The number of commits: a thousand at most.
    pub count: usize,
    /// Half of them took no longer.
    pub median: Duration,
    /// 99 % of them took no longer.
    pub p99: Duration,
    /// The slowest one.
    pub max: Duration,
}

impl RecentCommits {
    /// A commit took this long.
    pub(super) fn record(&self, took: Duration) {
        let mut recent = lock(&self.0);
        if recent.len() == COMMITS_MAX {
            recent.pop_front();
        }
        recent.push_back(took);
    }

    pub(super) fn times(&self) -> CommitTimes {
        let mut sorted: Vec<_> = lock(&self.0).iter().copied().collect();
        sorted.sort_unstable();
        let rank = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            sorted.get(rank).copied().unwrap_or_default()
        };
        CommitTimes { count: sorted.len(), median: rank(50), p99: rank(99), max: rank(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_commits_count() {
        let recent = RecentCommits::default();
        assert_eq!(recent.times(), CommitTimes::default());
        recent.record(Duration::from_secs(60));
        for milliseconds in 1..=1_000 {
            recent.record(Duration::from_millis(milliseconds));
        }
        let expected = CommitTimes {
            count: 1_000,
            median: Duration::from_millis(500),
            p99: Duration::from_millis(990),
            max: Duration::from_millis(1_000),
        };
        assert_eq!(recent.times(), expected);
    }
}
