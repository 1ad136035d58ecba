//! One connection: its requests, one after another, and its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::{Api, READ_TIME};

/// When the server stops, an answer has this long to be read, and half a request to become a whole one.
const LINGER: Duration = Duration::from_millis(500);

/// Serves a connection until its client closes it, or `stopping` becomes true and the request that is under
/// way has its answer. Browsers keep connections open that nothing is under way on; they end with the server.
pub(super) async fn serve(
    stream: TcpStream,
    from: SocketAddr,
    api: Arc<Api>,
    mut stopping: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let is_busy = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| {
        let (api, is_busy) = (api.clone(), is_busy.clone());
        async move {
            is_busy.store(true, Ordering::Relaxed);
            let answer = api.answer(request, from).await;
            is_busy.store(false, Ordering::Relaxed);
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    loop {
        match tokio::time::timeout(LINGER, connection.as_mut()).await {
            Ok(ended) => return ended,
            Err(_) if is_busy.load(Ordering::Relaxed) => {}
            Err(_) => return Ok(()),
        }
    }
}
