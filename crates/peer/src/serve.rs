//! Serves the calls of other nodes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::call::{PeerAnswer, PeerCall, PeerNode};
use crate::connection::{CONNECTION_WINDOW, FRAME_BYTES_MAX, STREAM_WINDOW, Settings};
use crate::handshake::{self, HandshakeError};
use crate::identity::PeerIdentity;
use crate::limits::PeerLimits;
use crate::refusal_log::RefusalLog;
use crate::respond::respond;
use crate::socket::{self, Stream};
use crate::tls::PeerTls;

/// Serves calls of other nodes until `stop` completes. Then it accepts nothing new, lets calls in progress finish for
/// [`PeerLimits::stop_grace`], and ends when no handler runs any more.
///
/// The handler gets the caller and the call. Its future is dropped when the caller cancels the call or the connection
/// ends. A handler that panics ends its own call only. Dropping this future ends all connections at once.
pub async fn serve_peers<F>(
    listener: TcpListener,
    identity: PeerIdentity,
    tls: Option<PeerTls>,
    limits: PeerLimits,
    handler: impl Fn(PeerNode, PeerCall) -> F + Clone + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) where
    F: Future<Output = PeerAnswer> + Send + 'static,
{
    let permits = |max: usize| Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
    let handshakes = permits(limits.handshakes_max);
    let (stopping, stop_seen) = watch::channel(false);
    // Each call holds a sender. The receiver notices when the last one is dropped.
    let (running, mut all_ended) = mpsc::channel::<Infallible>(1);
    let server = Arc::new(Server {
        places: permits(limits.connections_max),
        settings: Settings { identity, tls, limits },
        refusals: RefusalLog::default(),
        stopping: stop_seen,
        running,
    });
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let (tcp, peer) = tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!("a connection of another node can't be accepted: {error}");
                    // For instance because too many files are open. Some have to be closed first.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        let Ok(handshake) = Arc::clone(&handshakes).try_acquire_owned() else {
            server.refusals.log(peer, &"too many connections are in the handshake");
            continue;
        };
        connections.spawn(Arc::clone(&server).serve(tcp, peer, handshake, handler.clone()));
    }
    drop(listener);
    stopping.send_replace(true);
    while connections.join_next().await.is_some() {}
    drop(server);
    all_ended.recv().await;
}

/// State that all connections from other nodes share.
struct Server {
    settings: Settings,
    /// One for each connection that may be open.
    places: Arc<Semaphore>,
    refusals: RefusalLog,
    stopping: watch::Receiver<bool>,
    running: mpsc::Sender<Infallible>,
}

impl Server {
    async fn serve<F>(
        self: Arc<Self>,
        tcp: TcpStream,
        peer: SocketAddr,
        handshake: OwnedSemaphorePermit,
        handler: impl Fn(PeerNode, PeerCall) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = PeerAnswer> + Send + 'static,
    {
        let limits = &self.settings.limits;
        let mut stopping = self.stopping.clone();
        socket::tune(&tcp, limits.ping_timeout);
        let admitted = tokio::select! {
            admitted = timeout(limits.handshake_time, self.admit(tcp)) => {
                admitted.unwrap_or(Err(HandshakeError::TimedOut(limits.handshake_time)))
            }
            () = stop_begins(&mut stopping) => return,
        };
        drop(handshake);
        let (stream, node, place) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return self.refusals.log(peer, &error),
        };
        let caller = Arc::clone(&node.id);
        let (bytes_max, running) = (limits.message_bytes_max, self.running.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let running = running.clone();
            let responding = respond(request, node.clone(), bytes_max, handler.clone());
            async move {
                let response = responding.await;
                drop(running);
                response
            }
        });
        let mut connection = pin!(
            http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_frame_size(FRAME_BYTES_MAX)
                .max_concurrent_streams(limits.calls_max)
                // Nodes trust each other, and a burst of cancelled calls isn't an attack.
                .max_pending_accept_reset_streams(usize::try_from(limits.calls_max).ok())
                .max_local_error_reset_streams(None)
                .keep_alive_interval(limits.ping_interval)
                .keep_alive_timeout(limits.ping_timeout)
                .auto_date_header(false)
                .serve_connection(TokioIo::new(stream), service)
        );
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = stop_begins(&mut stopping) => {
                connection.as_mut().graceful_shutdown();
                timeout(limits.stop_grace, connection).await.ok()
            }
        };
        match ended {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::debug!("the connection from the node `{caller}` at {peer} ended: {error}");
            }
            None => tracing::warn!(
                "calls of the node `{caller}` at {peer} were ended: they took longer than {:?} after the stop",
                limits.stop_grace
            ),
        }
        drop(place);
    }

    /// Completes the handshakes. Returns the connection with its place among those that may be open.
    async fn admit(
        &self,
        tcp: TcpStream,
    ) -> Result<(Stream, PeerNode, OwnedSemaphorePermit), HandshakeError> {
        let mut stream: Stream = match &self.settings.tls {
            None => Box::new(tcp),
            Some(tls) => {
                let stream = TlsAcceptor::from(Arc::clone(&tls.server)).accept(tcp).await;
                Box::new(stream.map_err(|error| HandshakeError::Tls(error.to_string()))?)
            }
        };
        let admit = || Arc::clone(&self.places).try_acquire_owned().ok();
        let (node, place) = handshake::accept(&mut stream, &self.settings.identity, admit).await?;
        Ok((stream, node, place))
    }
}

async fn stop_begins(stopping: &mut watch::Receiver<bool>) {
    // Without a sender nobody waits for this connection either.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
