//! How many tasks a second a queue hands out, as its workers ask.

use std::time::Duration;

use crate::clock::Monotonic;

/// Lets so many tasks a second go. What a second leaves unused may go at once later, no more.
#[derive(Debug)]
pub(super) struct Pace {
    per_second: f64,
    /// How many may go at once, as of `at`.
    saved: f64,
    at: Monotonic,
}

impl Pace {
    pub(super) fn new(per_second: f64, now: Monotonic) -> Self {
        let mut pace = Self { per_second, saved: 0.0, at: now };
        pace.saved = pace.saved_at_most();
        pace
    }

    /// From now on so many.
    pub(super) fn set(&mut self, per_second: f64, now: Monotonic) {
        if per_second != self.per_second {
            self.catch_up(now);
            self.per_second = per_second;
            self.saved = self.saved.min(self.saved_at_most());
        }
    }

    /// Whether a task may go now: then it counts.
    pub(super) fn take(&mut self, now: Monotonic) -> bool {
        self.catch_up(now);
        let may_go = self.saved >= 1.0;
        if may_go {
            self.saved -= 1.0;
        }
        may_go
    }

    /// How long it takes until a task may go.
    pub(super) fn wait(&mut self, now: Monotonic) -> Duration {
        self.catch_up(now);
        let missing = (1.0 - self.saved).max(0.0);
        // Never, if nothing may go at all; then as good as that.
        let seconds = (missing / self.per_second.max(1e-6)).min(3_600.0);
        Duration::from_nanos((seconds * 1e9).ceil() as u64)
    }

    fn catch_up(&mut self, now: Monotonic) {
        let seconds = now.since(self.at).as_secs_f64();
        self.saved = (self.saved + seconds * self.per_second).min(self.saved_at_most());
        self.at = now;
    }

    fn saved_at_most(&self) -> f64 {
        // A task must be able to go even at one a minute; at none a second, none.
        if self.per_second > 0.0 { self.per_second.max(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Monotonic {
        Monotonic::at(Duration::from_secs_f64(seconds))
    }

    /// How many may go at that time.
    fn taken(pace: &mut Pace, at: f64) -> usize {
        (0..1_000).take_while(|_| pace.take(seconds(at))).count()
    }

    #[test]
    fn a_second_lets_its_number_go_and_unused_time_no_more_than_that() {
        let mut pace = Pace::new(5.0, seconds(0.0));
        assert_eq!(taken(&mut pace, 0.0), 5);
        assert_eq!(pace.wait(seconds(0.0)), Duration::from_millis(200));
        assert_eq!(taken(&mut pace, 0.5), 2);
        assert_eq!(taken(&mut pace, 1.0), 3);
        assert_eq!(taken(&mut pace, 100.0), 5);
    }

    #[test]
    fn less_than_one_a_second_is_possible() {
        let mut pace = Pace::new(0.5, seconds(0.0));
        assert_eq!(taken(&mut pace, 0.0), 1);
        assert_eq!(taken(&mut pace, 1.9), 0);
        assert_eq!(taken(&mut pace, 2.0), 1);
    }

    #[test]
    fn none_a_second_holds_everything_until_there_is_another_pace() {
        let mut pace = Pace::new(0.0, seconds(0.0));
        assert_eq!(taken(&mut pace, 1_000.0), 0);
        assert_eq!(pace.wait(seconds(1_000.0)), Duration::from_secs(3_600));
        pace.set(2.0, seconds(1_000.0));
        assert_eq!(taken(&mut pace, 1_001.0), 2);
    }
}
