//! TCP sockets of connections between nodes.

use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// The bytes of a connection: TCP, or TLS over it.
pub(crate) type Stream = Box<dyn ByteStream>;

/// A stream of bytes in both directions.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> ByteStream for S {}

/// Sets the options of a socket. A connection works without them, so a failure is only logged.
pub(crate) fn tune(stream: &TcpStream, unacknowledged_max: Duration) {
    // Frames are written as a whole: nothing is gained by waiting for more bytes.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("TCP_NODELAY isn't set on a connection between nodes: {error}");
    }
    // Pings notice a node that hangs. This frees the socket's buffer if the node's machine is gone.
    #[cfg(target_os = "linux")]
    if let Err(error) = SockRef::from(stream).set_tcp_user_timeout(Some(unacknowledged_max)) {
        tracing::debug!("TCP_USER_TIMEOUT isn't set on a connection between nodes: {error}");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (SockRef::from(stream), unacknowledged_max);
}
