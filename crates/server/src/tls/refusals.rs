//! Logs refused handshakes, at a bounded rate.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use perennial_telemetry::Protocol;
use tokio::time::Instant;

/// Anybody can cause refusals, so at most one is logged in this time.
const INTERVAL: Duration = Duration::from_secs(10);

/// Logs refused handshakes, at most one every ten seconds, and how many others there were.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<Refusals>);

#[derive(Debug, Default)]
struct Refusals {
    last_logged: Option<Instant>,
    not_logged: u64,
}

impl RefusalLog {
    pub(crate) fn log(&self, protocol: Protocol, peer: &str, error: &io::Error) {
        // Probes of load balancers connect and leave.
        if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) {
            tracing::debug!(
                "the {protocol} connection from {peer} ended in its handshake: {error}"
            );
            return;
        }
        let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match refusals.next(Instant::now()) {
            None => {}
            Some(0) => tracing::warn!("refused the {protocol} connection from {peer}: {error}"),
            Some(others) => tracing::warn!(
                "refused the {protocol} connection from {peer}: {error} (and {others} others since the last report)"
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
        assert_eq!(refusals.next(start + INTERVAL * 2), Some(0));
    }
}
