//! Where connections come from: TCP, TLS, or any other source of byte streams.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::server::TlsStream;

use crate::tls::PeerCertificate;

/// A source of connections: a [`TcpListener`], or one for another transport, such as TLS or memory.
pub trait Accept: Send + 'static {
    /// Waits for the next connection. Dropping the future loses no connection. Other clients wait meanwhile, so a
    /// transport with a handshake of its own returns [`Accepted::Handshaking`].
    fn accept(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Accepted>> + Send + '_>>;

    /// Whether only programs on this machine can connect.
    fn is_local(&self) -> bool;
}

/// A client that has connected.
pub enum Accepted {
    /// The connection can be served.
    Ready(Connection),
    /// The transport's handshake comes first. It runs on the connection's own task, within
    /// [`ConnectionLimits::handshake_time`](crate::ConnectionLimits::handshake_time).
    Handshaking {
        /// The client's address, for the log.
        peer: String,
        /// Completes with the connection.
        handshake: Handshake,
    },
}

/// The handshake of a transport.
pub type Handshake = Pin<Box<dyn Future<Output = io::Result<Connection>> + Send>>;

/// A connection with a client.
pub struct Connection {
    /// The bytes in both directions.
    pub stream: Stream,
    /// The client's address, for the log.
    pub peer: String,
    /// The client's certificate, if it has presented one. It is verified.
    pub peer_certificate: Option<Arc<PeerCertificate>>,
    /// Completes when the server has to end the connection.
    pub revoked: Revoked,
}

impl Connection {
    /// A connection without a certificate. Only its client, or the server's shutdown, ends it.
    pub fn new(stream: Stream, peer: String) -> Self {
        Self { stream, peer, peer_certificate: None, revoked: Revoked::never() }
    }
}

/// Completes when a connection may no longer be used, because its client's certificate isn't valid any more.
pub struct Revoked(Option<Pin<Box<dyn Future<Output = String> + Send>>>);

impl Revoked {
    /// Never completes.
    pub fn never() -> Self {
        Self(None)
    }

    /// Completes with the future, whose output is the reason for the log.
    pub fn when(future: impl Future<Output = String> + Send + 'static) -> Self {
        Self(Some(Box::pin(future)))
    }

    /// Waits for the revocation, and returns its reason. Dropping this future loses nothing.
    pub(crate) async fn wait(&mut self) -> String {
        match &mut self.0 {
            Some(future) => future.await,
            None => std::future::pending().await,
        }
    }
}

/// The bytes of a connection in both directions.
///
/// TCP and TLS are variants of their own, so that their reads and writes need no dynamic dispatch.
pub enum Stream {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A TLS connection over TCP.
    Tls(Box<TlsStream<TcpStream>>),
    /// A connection over another transport.
    Other(Box<dyn ByteStream>),
}

/// A stream of bytes in both directions. Implemented for every type that can be one.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> ByteStream for S {}

impl Accept for TcpListener {
    fn accept(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Accepted>> + Send + '_>> {
        Box::pin(async {
            let (stream, peer) = accept_tcp(self).await?;
            Ok(Accepted::Ready(Connection::new(Stream::Tcp(stream), peer)))
        })
    }

    fn is_local(&self) -> bool {
        self.local_addr().is_ok_and(|address| address.ip().is_loopback())
    }
}

/// Waits for the next TCP connection. Returns it with the client's address.
pub(crate) async fn accept_tcp(listener: &TcpListener) -> io::Result<(TcpStream, String)> {
    let (stream, peer) = listener.accept().await?;
    // Responses are written as a whole: nothing is gained by waiting for more bytes.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("TCP_NODELAY isn't set for {peer}: {error}");
    }
    Ok((stream, peer.to_string()))
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
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
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Other(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
            Self::Other(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
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
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
            Self::Other(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
            Self::Other(stream) => stream.is_write_vectored(),
        }
    }
}
