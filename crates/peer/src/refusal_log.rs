//! Logs refused connections, at a bounded rate.

use std::net::SocketAddr;

use perennial_telemetry::LogRate;

/// Logs refused connections, at most one every ten seconds, and how many others there were.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(LogRate);

impl RefusalLog {
    pub(crate) fn log(&self, peer: SocketAddr, reason: &dyn std::fmt::Display) {
        match self.0.next() {
            None => {}
            Some(0) => tracing::warn!("refused {peer} on the node port: {reason}"),
            Some(others) => tracing::warn!(
                "refused {peer} on the node port: {reason} (and {others} others since the last report)"
            ),
        }
    }
}
