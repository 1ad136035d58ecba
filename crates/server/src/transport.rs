//! Where connections come from: TCP, or any other source of byte streams.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// A source of connections: a [`TcpListener`], or one for another transport, such as TLS or memory.
pub trait Accept: Send + 'static {
    /// Waits for the next connection. Dropping the future loses no connection. A transport with a handshake of its
    /// own leaves it to the stream's first read: other clients wait for `accept`.
    fn accept(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Connection>> + Send + '_>>;

    /// Whether only programs on this machine can connect.
    fn is_local(&self) -> bool;
}

/// A connection with a client.
pub struct Connection {
    /// The bytes in both directions.
    pub stream: Stream,
    /// Who connected, for the log.
    pub peer: String,
}

/// The bytes of a connection in both directions.
///
/// TCP is a variant of its own, so that its reads and writes need no dynamic dispatch.
pub enum Stream {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A connection over another transport.
    Other(Box<dyn ByteStream>),
}

/// A stream of bytes in both directions. Implemented for every type that can be one.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> ByteStream for S {}

impl Accept for TcpListener {
    fn accept(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Connection>> + Send + '_>> {
        Box::pin(async {
            let (stream, peer) = TcpListener::accept(self).await?;
            // Responses are written as a whole: nothing is gained by waiting for more bytes.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!("TCP_NODELAY isn't set for {peer}: {error}");
            }
            Ok(Connection { stream: Stream::Tcp(stream), peer: peer.to_string() })
        })
    }

    fn is_local(&self) -> bool {
        self.local_addr().is_ok_and(|address| address.ip().is_loopback())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            Self::Other(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Other(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Other(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Other(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
            Self::Other(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Other(stream) => stream.is_write_vectored(),
        }
    }
}
