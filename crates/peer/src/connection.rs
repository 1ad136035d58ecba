//! A connection to another node, and the calls over it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::call::{CallError, PeerAnswer, PeerCall, PeerNode};
use crate::closable_stream::{ClosableStream, StreamOwner};
use crate::envelope::{self, Envelope, ReadError};
use crate::handshake::{self, HandshakeError};
use crate::identity::PeerIdentity;
use crate::limits::PeerLimits;
use crate::socket::{self, Stream};
use crate::tls::PeerTls;

/// The HTTP/2 flow-control window of a call, in both directions: large messages don't wait for each window.
pub(crate) const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
/// The HTTP/2 flow-control window of a connection. Calls that nobody reads yet leave room for others.
pub(crate) const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;
/// The largest frame of HTTP/2. Small calls wait for one such frame of a large call at most.
pub(crate) const FRAME_BYTES_MAX: u32 = 64 * 1024;
/// Calls over a connection before a new one replaces it. HTTP/2 numbers at most 2^30.
const CALLS_PER_CONNECTION: u32 = 1 << 29;
/// The longest text of a refusal that is read.
const REFUSAL_BYTES_MAX: usize = 4096;

/// Settings that all connections of a node share.
pub(crate) struct Settings {
    pub(crate) identity: PeerIdentity,
    pub(crate) tls: Option<PeerTls>,
    pub(crate) limits: PeerLimits,
}

/// A connection to another node. It is closed when the last clone is dropped: a call in progress has one.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Shared>);

struct Shared {
    address: Arc<str>,
    node: PeerNode,
    sender: SendRequest<Envelope>,
    /// `None` after [`Connection::close`].
    stream: Mutex<Option<StreamOwner>>,
    /// One for each call that may be in progress.
    places: Semaphore,
    calls: AtomicU32,
    limits: PeerLimits,
}

/// Why a call over a connection has no answer.
pub(crate) enum Failure {
    /// Nothing of the call was sent, because the connection has ended: the same node may be called again.
    Unsent(String),
    /// As the caller sees it.
    Final(CallError),
}

impl Connection {
    /// Connects, and completes the handshakes. An error says what is wrong and what to do.
    pub(crate) async fn open(address: &Arc<str>, settings: &Settings) -> Result<Self, String> {
        let limits = &settings.limits;
        let refused =
            |reason: HandshakeError| format!("the node at {address} can't be called: {reason}");
        let tcp = match timeout(limits.connect_time, TcpStream::connect(&**address)).await {
            Ok(Ok(tcp)) => tcp,
            Ok(Err(error)) => {
                return Err(format!(
                    "the node at {address} can't be reached: {error}: check that it runs and that this is its address"
                ));
            }
            Err(_) => {
                return Err(format!(
                    "the node at {address} can't be reached: nothing answered within {:?}: check that it runs, its \
                     address and the network",
                    limits.connect_time
                ));
            }
        };
        socket::tune(&tcp, limits.ping_timeout);
        let handshakes = async {
            let mut stream = secured(tcp, address, settings.tls.as_ref()).await?;
            let node = handshake::connect(&mut stream, &settings.identity).await?;
            Ok((stream, node))
        };
        let (stream, node) = timeout(limits.handshake_time, handshakes)
            .await
            .unwrap_or(Err(HandshakeError::TimedOut(limits.handshake_time)))
            .map_err(refused)?;
        let (stream, owner) = ClosableStream::new(stream);
        let calls_max = usize::try_from(limits.calls_max).unwrap_or(usize::MAX);
        let (sender, driver) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_BYTES_MAX)
            .initial_max_send_streams(calls_max)
            // Nodes trust each other, and a burst of cancelled calls isn't an attack.
            .max_local_error_reset_streams(None)
            .keep_alive_interval(limits.ping_interval)
            .keep_alive_timeout(limits.ping_timeout)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| format!("the node at {address} can't be called: {}", chain(&error)))?;
        let name = Arc::clone(address);
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!("the connection to the node at {name} ended: {}", chain(&error));
            }
        });
        Ok(Self(Arc::new(Shared {
            address: Arc::clone(address),
            node,
            sender,
            stream: Mutex::new(Some(owner)),
            places: Semaphore::new(calls_max.min(Semaphore::MAX_PERMITS)),
            calls: AtomicU32::new(0),
            limits: limits.clone(),
        })))
    }

    /// The node at the other end.
    pub(crate) fn node(&self) -> &PeerNode {
        &self.0.node
    }

    /// Whether a new call may use the connection.
    pub(crate) fn is_usable(&self) -> bool {
        !self.0.sender.is_closed() && self.0.calls.load(Ordering::Relaxed) < CALLS_PER_CONNECTION
    }

    /// Ends the connection. Its calls in progress are lost.
    pub(crate) fn close(&self) {
        *self.0.stream.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Makes a call. Dropping the future resets the call's stream.
    pub(crate) async fn call(&self, call: PeerCall) -> Result<PeerAnswer, Failure> {
        let Shared { address, limits, places, .. } = &*self.0;
        let Ok(_place) = places.try_acquire() else {
            return Err(not_delivered(format!(
                "{} calls to the node at {address} are in progress, as many as are allowed",
                limits.calls_max
            )));
        };
        // The path is all that counts; HTTP/2 wants a scheme and a host.
        let uri = Uri::builder().scheme("http").authority("node").path_and_query(call.path);
        let uri = uri
            .build()
            .map_err(|error| not_delivered(format!("the call's path is invalid: {error}")))?;
        let mut request = Request::new(Envelope::new(&call.head, call.body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        let response = match self.0.sender.clone().try_send_request(request).await {
            Ok(response) => response,
            Err(mut error) => {
                let is_unsent = error.take_message().is_some();
                return Err(self.failure(is_unsent, error.error()));
            }
        };
        let (status, body) = (response.status(), response.into_body());
        let ok = status == StatusCode::OK;
        let bytes_max = if ok { limits.message_bytes_max } else { REFUSAL_BYTES_MAX };
        match envelope::read(body, bytes_max).await {
            Ok((head, body)) if ok => Ok(PeerAnswer { head, body }),
            Ok((_, text)) => {
                let text = String::from_utf8_lossy(&text);
                let text = format!("the node at {address} refused the call ({status}): {text}");
                Err(Failure::Final(match status {
                    StatusCode::PAYLOAD_TOO_LARGE => CallError::TooLarge(text),
                    _ if status.is_client_error() => CallError::NotDelivered(text),
                    _ => CallError::Lost(text),
                }))
            }
            Err(ReadError::Connection(error)) => Err(self.lost(&error)),
            Err(error @ (ReadError::TooLarge { .. } | ReadError::Malformed)) => {
                let text = format!("the answer of the node at {address} can't be read: {error}");
                Err(Failure::Final(CallError::Lost(text)))
            }
        }
    }

    fn failure(&self, is_unsent: bool, error: &hyper::Error) -> Failure {
        let address = &self.0.address;
        if is_unsent {
            let text =
                format!("the connection to the node at {address} has ended: {}", chain(error));
            return Failure::Unsent(text);
        }
        match is_refused(error) {
            true => {
                not_delivered(format!("the node at {address} refused the call: {}", chain(error)))
            }
            false => self.lost(error),
        }
    }

    fn lost(&self, error: &hyper::Error) -> Failure {
        Failure::Final(CallError::Lost(format!(
            "the connection to the node at {} was lost before its answer: {}",
            self.0.address,
            chain(error)
        )))
    }
}

fn not_delivered(text: String) -> Failure {
    Failure::Final(CallError::NotDelivered(text))
}

/// Completes the handshake of TLS, if the cluster uses it.
async fn secured(
    tcp: TcpStream,
    address: &str,
    tls: Option<&PeerTls>,
) -> Result<Stream, HandshakeError> {
    let Some(tls) = tls else { return Ok(Box::new(tcp)) };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| HandshakeError::Tls(format!("`{host}` isn't a name of a server")))?;
    let stream = TlsConnector::from(Arc::clone(&tls.client)).connect(name, tcp).await;
    Ok(Box::new(stream.map_err(|error| HandshakeError::Tls(error.to_string()))?))
}

/// Whether the other node has certainly not started the call: it reset the stream as refused, or it is stopping and
/// its last word (GOAWAY without an error) names an earlier call as the last one that it has begun. A GOAWAY with an
/// error, and every other end of a connection, leave it open.
fn is_refused(error: &hyper::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            let reason = error.reason();
            let is_refused_stream = error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM);
            let is_stopping = error.is_go_away() && reason == Some(h2::Reason::NO_ERROR);
            return error.is_remote() && (is_refused_stream || is_stopping);
        }
        source = error.source();
    }
    false
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
