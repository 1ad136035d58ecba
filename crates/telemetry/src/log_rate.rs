//! Bounds how often an event is logged that strangers can cause.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most one event is logged in this time.
const INTERVAL: Duration = Duration::from_secs(10);

/// Bounds how often an event is logged: at most every ten seconds, with the number of those that weren't.
///
/// ```
/// use perennial_telemetry::LogRate;
///
/// let rate = LogRate::default();
/// assert_eq!(rate.next(), Some(0));
/// assert_eq!(rate.next(), None);
/// ```
#[derive(Debug, Default)]
pub struct LogRate(Mutex<Events>);

#[derive(Debug, Default)]
struct Events {
    last_logged: Option<Instant>,
    not_logged: u64,
}

impl LogRate {
    /// How many events weren't logged before this one; `None` if this one isn't to be logged either.
    pub fn next(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next(Instant::now())
    }
}

impl Events {
    fn next(&mut self, now: Instant) -> Option<u64> {
        if self.last_logged.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            self.not_logged += 1;
            return None;
        }
        self.last_logged = Some(now);
        Some(std::mem::take(&mut self.not_logged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_in_quick_succession_are_counted() {
        let mut events = Events::default();
        let start = Instant::now();
        assert_eq!(events.next(start), Some(0));
        assert_eq!(events.next(start), None);
        assert_eq!(events.next(start + INTERVAL / 2), None);
        assert_eq!(events.next(start + INTERVAL), Some(2));
        assert_eq!(events.next(start + INTERVAL * 2), Some(0));
    }
}
