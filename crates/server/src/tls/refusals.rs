//! Logs refused handshakes, at a bounded rate.

use std::io;

use perennial_telemetry::{LogRate, Protocol};

/// Logs refused handshakes, at most one every ten seconds, and how many others there were.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(LogRate);

impl RefusalLog {
    pub(crate) fn log(&self, protocol: Protocol, peer: &str, error: &io::Error) {
        // Probes of load balancers connect and leave.
        if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) {
            tracing::debug!(
                "the {protocol} connection from {peer} ended in its handshake: {error}"
            );
            return;
        }
        match self.0.next() {
            None => {}
            Some(0) => tracing::warn!("refused the {protocol} connection from {peer}: {error}"),
            Some(others) => tracing::warn!(
                "refused the {protocol} connection from {peer}: {error} (and {others} others since the last report)"
            ),
        }
    }
}
