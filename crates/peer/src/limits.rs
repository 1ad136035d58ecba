//! Limits on calls, connections and times.

use std::time::Duration;

/// Limits on calls, connections and times. All nodes of a cluster should have the same.
#[derive(Debug, Clone)]
pub struct PeerLimits {
    /// Bytes of a call or answer: head and body together. More are refused at both ends. At most 4 GB.
    pub message_bytes_max: usize,
    /// Calls at a time on a connection. More are refused with [`CallError::NotDelivered`](crate::CallError).
    pub calls_max: u32,
    /// Connections at a time, of [`Peers`](crate::Peers) and of [`serve_peers`](crate::serve_peers) each.
    pub connections_max: usize,
    /// Connections that are in the handshake at a time. Strangers can use up these, but not the others.
    pub handshakes_max: usize,
    /// How long a TCP connection may take.
    pub connect_time: Duration,
    /// How long the handshakes of TLS and of the nodes may take together.
    pub handshake_time: Duration,
    /// After a failed attempt to connect, calls fail at once for this time.
    pub retry_pause: Duration,
    /// A ping is sent after this long without a frame from the other node.
    pub ping_interval: Duration,
    /// The connection is closed when a ping, or data, isn't acknowledged within this time.
    pub ping_timeout: Duration,
    /// How long calls in progress may take after `serve_peers` was told to stop.
    pub stop_grace: Duration,
}

impl Default for PeerLimits {
    fn default() -> Self {
        Self {
            message_bytes_max: 128 * 1024 * 1024,
            calls_max: 10_000,
            connections_max: 256,
            handshakes_max: 64,
            connect_time: Duration::from_secs(1),
            handshake_time: Duration::from_secs(2),
            retry_pause: Duration::from_millis(200),
            ping_interval: Duration::from_millis(500),
            ping_timeout: Duration::from_secs(2),
            stop_grace: Duration::from_secs(10),
        }
    }
}
