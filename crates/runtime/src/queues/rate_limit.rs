//! Rate limit of a task queue, as its workers ask for.

use std::time::Duration;

use crate::clock::Monotonic;

/// A token bucket: tasks per second, with a burst of one second's tasks.
#[derive(Debug)]
pub(super) struct RateLimit {
    per_second: f64,
    /// Tasks allowed without waiting, as of `at`.
    tokens: f64,
    at: Monotonic,
}

impl RateLimit {
    pub(super) fn new(per_second: f64, now: Monotonic) -> Self {
        let mut limit = Self { per_second, tokens: 0.0, at: now };
        limit.tokens = limit.burst();
        limit
    }

    /// Changes the rate.
    pub(super) fn set(&mut self, per_second: f64, now: Monotonic) {
        if per_second != self.per_second {
            self.refill(now);
            self.per_second = per_second;
            self.tokens = self.tokens.min(self.burst());
        }
    }

    /// Whether a task is allowed now. If so, it is counted.
    pub(super) fn take(&mut self, now: Monotonic) -> bool {
        self.refill(now);
        let is_allowed = self.tokens >= 1.0;
        if is_allowed {
            self.tokens -= 1.0;
        }
        is_allowed
    }

    /// Time until the next task is allowed.
    pub(super) fn wait(&mut self, now: Monotonic) -> Duration {
        self.refill(now);
        let missing = (1.0 - self.tokens).max(0.0);
        // A rate of zero allows nothing: wait for an hour, then check again.
        let seconds = (missing / self.per_second.max(1e-6)).min(3_600.0);
        Duration::from_nanos((seconds * 1e9).ceil() as u64)
    }

    fn refill(&mut self, now: Monotonic) {
        let seconds = now.since(self.at).as_secs_f64();
        self.tokens = (self.tokens + seconds * self.per_second).min(self.burst());
        self.at = now;
    }

    fn burst(&self) -> f64 {
        // A rate below one per second still allows a single task. A rate of zero allows none.
        if self.per_second > 0.0 { self.per_second.max(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Monotonic {
        Monotonic::at(Duration::from_secs_f64(seconds))
    }

    /// Tasks allowed at that time.
    fn taken(limit: &mut RateLimit, at: f64) -> usize {
        (0..1_000).take_while(|_| limit.take(seconds(at))).count()
    }

    #[test]
    fn a_second_lets_its_number_go_and_unused_time_no_more_than_that() {
        let mut limit = RateLimit::new(5.0, seconds(0.0));
        assert_eq!(taken(&mut limit, 0.0), 5);
        assert_eq!(limit.wait(seconds(0.0)), Duration::from_millis(200));
        assert_eq!(taken(&mut limit, 0.5), 2);
        assert_eq!(taken(&mut limit, 1.0), 3);
        assert_eq!(taken(&mut limit, 100.0), 5);
    }

    #[test]
    fn less_than_one_a_second_is_possible() {
        let mut limit = RateLimit::new(0.5, seconds(0.0));
        assert_eq!(taken(&mut limit, 0.0), 1);
        assert_eq!(taken(&mut limit, 1.9), 0);
        assert_eq!(taken(&mut limit, 2.0), 1);
    }

    #[test]
    fn none_a_second_holds_everything_until_there_is_another_pace() {
        let mut limit = RateLimit::new(0.0, seconds(0.0));
        assert_eq!(taken(&mut limit, 1_000.0), 0);
        assert_eq!(limit.wait(seconds(1_000.0)), Duration::from_secs(3_600));
        limit.set(2.0, seconds(1_000.0));
        assert_eq!(taken(&mut limit, 1_001.0), 2);
    }
}
