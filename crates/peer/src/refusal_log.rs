//! Logs refused connections, at a bounded rate.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Anybody can cause refusals, so at most one is logged in this time.
const INTERVAL: Duration = Duration::from_secs(10);

/// Logs refused connections, at most one every ten seconds, and how many others there were.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<Refusals>);

#[derive(Debug, Default)]
struct Refusals {
    last_logged: Option<Instant>,
    not_logged: u64,
}

impl RefusalLog {
    pub(crate) fn log(&self, peer: SocketAddr, reason: &dyn std::fmt::Display) {
        let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match refusals.next(Instant::now()) {
            None => {}
            Some(0) => tracing::warn!("refused {peer} on the node port: {reason}"),
            Some(others) => tracing::warn!(
                "refused {peer} on the node port: {reason} (and {others} others since the last report)"
            ),
        }
    }
}

impl Refusals {
    /// How many refusals weren't logged before this one; `None` if this one isn't logged either.
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
    fn refusals_in_quick_succession_are_counted() {
        let mut refusals = Refusals::default();
        let start = Instant::now();
        assert_eq!(refusals.next(start), Some(0));
        assert_eq!(refusals.next(start), None);
        assert_eq!(refusals.next(start + INTERVAL / 2), None);
        assert_eq!(refusals.next(start + INTERVAL), Some(2));
    }
}
