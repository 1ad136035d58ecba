//! Accepts TLS connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::{Error, InvalidMessage};

use super::{PeerCertificate, Tls};
use crate::transport::{Accept, Accepted, Connection, Revoked, Stream, accept_tcp};

/// A client's certificate is verified again after this time at the latest: its CA, or an intermediate one, may have
/// expired.
const VERIFY_INTERVAL: Duration = Duration::from_secs(300);

/// The protocol that is spoken over TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocol {
    Grpc,
    Http,
}

impl Protocol {
    /// The name in the TLS handshake. Clients that don't name a protocol are served too.
    pub(super) fn alpn(self) -> &'static [u8] {
        match self {
            Self::Grpc => b"h2",
            Self::Http => b"http/1.1",
        }
    }
}

/// Accepts TLS connections, and nothing else, on a TCP socket.
pub(crate) struct TlsListener {
    tcp: TcpListener,
    tls: Arc<Tls>,
    protocol: Protocol,
}

impl TlsListener {
    pub(crate) fn new(tcp: TcpListener, tls: Arc<Tls>, protocol: Protocol) -> Self {
        Self { tcp, tls, protocol }
    }
}

impl Accept for TlsListener {
    fn accept(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Accepted>> + Send + '_>> {
        Box::pin(async {
            let (stream, peer) = accept_tcp(&self.tcp).await?;
            let handshake =
                Box::pin(handshake(Arc::clone(&self.tls), self.protocol, stream, peer.clone()));
            Ok(Accepted::Handshaking { peer, handshake })
        })
    }

    fn is_local(&self) -> bool {
        self.tcp.is_local()
    }
}

async fn handshake(
    tls: Arc<Tls>,
    protocol: Protocol,
    stream: TcpStream,
    peer: String,
) -> io::Result<Connection> {
    // Before the configuration is read, so that no replacement is missed.
    let replaced = tls.replaced.subscribe();
    let config = tls.current.load().server_config(protocol);
    let stream = TlsAcceptor::from(config).accept(stream).await.map_err(in_words)?;
    let (_, session) = stream.get_ref();
    let chain: Vec<CertificateDer<'static>> = session
        .peer_certificates()
        .unwrap_or_default()
        .iter()
        .map(|certificate| certificate.clone().into_owned())
        .collect();
    let Some(certificate) = chain.first() else {
        return Ok(Connection::new(Stream::Tls(Box::new(stream)), peer));
    };
    let certificate = PeerCertificate::parse(certificate).map_err(|problem| {
        io::Error::other(format!("the client's certificate can't be read: {problem}"))
    })?;
    if replaced.has_changed().unwrap_or(true) {
        tls.current.load().verify_client(&chain, UnixTime::now()).map_err(io::Error::other)?;
    }
    let certificate = Arc::new(certificate);
    let revoked = Revoked::when(until_invalid(tls, replaced, Arc::clone(&certificate), chain));
    let stream = Stream::Tls(Box::new(stream));
    Ok(Connection { stream, peer, peer_certificate: Some(certificate), revoked })
}

/// Waits until a client's certificate isn't valid any more. Returns the reason.
async fn until_invalid(
    tls: Arc<Tls>,
    mut replaced: watch::Receiver<()>,
    certificate: Arc<PeerCertificate>,
    chain: Vec<CertificateDer<'static>>,
) -> String {
    loop {
        replaced.mark_unchanged();
        if let Err(error) = tls.current.load().verify_client(&chain, UnixTime::now()) {
            let subject = &certificate.subject;
            return format!("its client certificate `{subject}` isn't valid any more: {error}");
        }
        let left = certificate.not_after.duration_since(Timestamp::now());
        // The certificate is valid until the end of its last second.
        let left = Duration::try_from(left).unwrap_or_default() + Duration::from_secs(1);
        tokio::select! {
            () = tokio::time::sleep(left.min(VERIFY_INTERVAL)) => {}
            changed = replaced.changed() => changed.expect("the sender is part of `tls`"),
        }
    }
}

/// What a failed handshake means, for the log.
fn in_words(error: io::Error) -> io::Error {
    let words = match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "the client doesn't speak TLS, which this port requires".to_owned()
        }
        Some(Error::NoCertificatesPresented) => "the client has no certificate".to_owned(),
        Some(Error::InvalidCertificate(problem)) => {
            format!("the client's certificate isn't accepted: {problem}")
        }
        Some(Error::AlertReceived(alert)) => {
            format!("the client doesn't accept the server's certificate or settings: {alert:?}")
        }
        Some(other) => format!("the TLS handshake failed: {other}"),
        None => return error,
    };
    io::Error::new(error.kind(), words)
}
