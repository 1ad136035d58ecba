//! Accepts connections, limits their number, and waits for them at shutdown.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use perennial_telemetry::ConnectionMetrics;
use tokio::sync::{Semaphore, mpsc};

use crate::stop_signal::StopSignal;
use crate::tls::RefusalLog;
use crate::transport::{Accept, Accepted, Connection};

/// Limits on connections and on slow clients. Well-behaved clients never reach them: they keep clients that hang, or
/// attack, from using up connections and memory.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// gRPC connections at a time. A worker process has one or two. More are closed at once.
    pub grpc_connections_max: usize,
    /// HTTP connections at a time.
    pub http_connections_max: usize,
    /// Calls at a time on a gRPC connection; more wait in the client. Every waiting poll is one, so a process with
    /// hundreds of workers, or a proxy, has thousands.
    pub streams_max: u32,
    /// How long a client has to complete the TLS handshake, and then, over gRPC, to send the first bytes of HTTP/2.
    /// From then on keepalive pings check it.
    pub handshake_time: Duration,
    /// How long a client has to send a request once it has begun. Over HTTP, also how long it may read nothing of a
    /// response.
    pub request_time: Duration,
    /// Bytes of incomplete gRPC messages that all connections together may hold.
    pub incomplete_bytes_max: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            grpc_connections_max: 4_096,
            http_connections_max: 1_024,
            streams_max: 10_000,
            handshake_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            incomplete_bytes_max: 32 * 1024 * 1024,
        }
    }
}

/// Limits on the connections of a listener.
pub(crate) struct ListenerLimits {
    /// Connections at a time.
    pub(crate) connections_max: usize,
    /// How long a client has to complete the transport's handshake.
    pub(crate) handshake_time: Duration,
}

/// Serves each connection of `listener` on a task of its own, after its handshake, until `stopping` is set and all of
/// them have ended.
pub(crate) async fn listen<S>(
    mut listener: Box<dyn Accept>,
    metrics: ConnectionMetrics,
    limits: ListenerLimits,
    mut stopping: StopSignal,
    serve: impl Fn(Connection) -> S + Clone + Send + 'static,
) where
    S: Future<Output = Result<(), ConnectionError>> + Send + 'static,
{
    let ListenerLimits { connections_max, handshake_time } = limits;
    // Each connection holds a sender. The receiver notices when the last one is dropped.
    let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
    let places = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
    let refusals = Arc::new(RefusalLog::default());
    let mut is_full = false;
    let protocol = metrics.protocol();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.wait() => break,
        };
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a {protocol} connection can't be accepted: {error}");
                // For instance because too many files are open. Some have to be closed first.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let peer = match &accepted {
            Accepted::Ready(connection) => connection.peer.clone(),
            Accepted::Handshaking { peer, .. } => peer.clone(),
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            metrics.refuse();
            if !std::mem::replace(&mut is_full, true) {
                tracing::warn!(
                    "{connections_max} {protocol} connections are open, as many as are allowed: more are \
                     closed at once (this one is from {peer})"
                );
            }
            continue;
        };
        if std::mem::replace(&mut is_full, false) {
            tracing::info!("{protocol} connections are accepted again");
        }
        let (serve, open, mut stopping) = (serve.clone(), open.clone(), stopping.clone());
        let refusals = Arc::clone(&refusals);
        let counted = metrics.open();
        tokio::spawn(async move {
            let connection = match accepted {
                Accepted::Ready(connection) => Ok(connection),
                Accepted::Handshaking { handshake, .. } => tokio::select! {
                    done = tokio::time::timeout(handshake_time, handshake) => match done {
                        Ok(done) => done.map_err(ConnectionError::Handshake),
                        Err(_) => Err(ConnectionError::NoHandshake(handshake_time)),
                    },
                    () = stopping.wait() => return drop((place, open)),
                },
            };
            let ended = match connection {
                Ok(connection) => serve(connection).await,
                Err(error) => Err(error),
            };
            match ended {
                Ok(()) => {}
                Err(ConnectionError::Revoked(reason)) => {
                    tracing::warn!("the {protocol} connection from {peer} was ended: {reason}");
                }
                Err(ConnectionError::Handshake(error)) => refusals.log(protocol, &peer, &error),
                Err(error) => {
                    tracing::debug!("a {protocol} connection from {peer} ended: {error}");
                }
            }
            drop((place, open, counted));
        });
    }
    drop((listener, open));
    all_closed.recv().await;
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error("the client didn't complete the TLS handshake within {0:?}")]
    NoHandshake(Duration),
    #[error(transparent)]
    Handshake(std::io::Error),
    #[error("{0}")]
    Revoked(String),
    #[error("the client sent no HTTP/2 preface within {0:?}")]
    Silent(Duration),
    #[error("the client doesn't speak HTTP/2")]
    NotHttp2,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Counts the requests of a connection that have arrived and have no response yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight(Arc<AtomicUsize>);

/// A request that counts until this is dropped.
pub(crate) struct InFlightRequest(InFlight);

impl InFlight {
    pub(crate) fn begin(&self) -> InFlightRequest {
        self.0.fetch_add(1, Ordering::Relaxed);
        InFlightRequest(self.clone())
    }

    fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// At shutdown, how long a client has to read a response or to complete a request.
const LINGER: Duration = Duration::from_millis(500);

/// Drives a connection at shutdown until its requests have their responses, and for [`LINGER`] longer. Incomplete
/// requests and clients that don't read don't extend it. `None` if the connection didn't end by itself.
pub(crate) async fn finish<T>(
    connection: impl Future<Output = T>,
    in_flight: &InFlight,
) -> Option<T> {
    let mut connection = pin!(connection);
    loop {
        let was_busy = in_flight.any();
        match tokio::time::timeout(LINGER, connection.as_mut()).await {
            Ok(ended) => return Some(ended),
            Err(_) if was_busy || in_flight.any() => {}
            Err(_) => return None,
        }
    }
}
