//! A serving node, and what tests call it with.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use perennial_peer::{
    PeerAnswer, PeerCall, PeerIdentity, PeerLimits, PeerNode, PeerSecret, PeerTls, Peers,
    serve_peers,
};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// A node that serves calls until it is dropped or told to stop.
pub(crate) struct Server {
    pub(crate) address: String,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start<F>(
        handler: impl Fn(PeerNode, PeerCall) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = PeerAnswer> + Send + 'static,
    {
        Self::with(identity("b"), None, limits(), handler).await
    }

    pub(crate) async fn with<F>(
        identity: PeerIdentity,
        tls: Option<PeerTls>,
        limits: PeerLimits,
        handler: impl Fn(PeerNode, PeerCall) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = PeerAnswer> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, identity, tls, limits, handler)
    }

    pub(crate) fn on<F>(
        listener: TcpListener,
        identity: PeerIdentity,
        tls: Option<PeerTls>,
        limits: PeerLimits,
        handler: impl Fn(PeerNode, PeerCall) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = PeerAnswer> + Send + 'static,
    {
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve_peers(listener, identity, tls, limits, handler, async {
            let _ = stopped.await;
        }));
        Self { address, stop: Some(stop), serving }
    }

    pub(crate) fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops, and waits until the last handler has ended.
    pub(crate) async fn stop(mut self) {
        self.begin_stop();
        (&mut self.serving).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Times that a busy machine keeps.
pub(crate) fn limits() -> PeerLimits {
    let long = Duration::from_secs(30);
    PeerLimits {
        connect_time: long,
        handshake_time: long,
        retry_pause: Duration::ZERO,
        ping_timeout: long,
        stop_grace: long,
        ..PeerLimits::default()
    }
}

pub(crate) fn identity(node_id: &str) -> PeerIdentity {
    PeerIdentity::new("cluster", node_id, PeerSecret::new([7; 32])).unwrap()
}

pub(crate) fn peers() -> Peers {
    Peers::new(identity("a"), None, limits())
}

pub(crate) fn call(path: &str, head: impl Into<Bytes>, body: impl Into<Bytes>) -> PeerCall {
    PeerCall { path: path.to_owned(), head: head.into(), body: body.into() }
}

pub(crate) async fn echo(_: PeerNode, call: PeerCall) -> PeerAnswer {
    PeerAnswer { head: call.head, body: call.body }
}

/// Events of the handler of [`waiting`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Started,
    Dropped,
}

type Handled = Pin<Box<dyn Future<Output = PeerAnswer> + Send>>;

/// A handler that never answers, and reports when its future begins and is dropped.
pub(crate) fn waiting() -> (
    impl Fn(PeerNode, PeerCall) -> Handled + Clone + Send + Sync + 'static,
    mpsc::UnboundedReceiver<Seen>,
) {
    struct Guard(mpsc::UnboundedSender<Seen>);
    impl Drop for Guard {
        fn drop(&mut self) {
            let _ = self.0.send(Seen::Dropped);
        }
    }
    let (reports, seen) = mpsc::unbounded_channel();
    let handler = move |_, _| {
        let reports = reports.clone();
        Box::pin(async move {
            let _guard = Guard(reports.clone());
            let _ = reports.send(Seen::Started);
            std::future::pending().await
        }) as Handled
    };
    (handler, seen)
}
