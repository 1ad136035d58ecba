//! Taking connections, and letting them end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

/// Serves each connection to `listener` on a task of its own, until `stopping` becomes true and the last of
/// them has ended. What they speak, `protocol`, is for the log.
pub(crate) async fn listen<S>(
    listener: TcpListener,
    protocol: &str,
    mut stopping: watch::Receiver<bool>,
    serve: impl Fn(TcpStream, SocketAddr) -> S,
) where
    S: Future<Output = hyper::Result<()>> + Send + 'static,
{
    // Each connection holds one end; when all have let go, the other end hears of it.
    let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
    loop {
        let connection = tokio::select! {
            accepted = listener.accept() => accepted,
            // An error means that nobody can say stop any more: then it has been said.
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        match connection {
            Ok((stream, from)) => {
                // Answers are small and whole: they needn't wait for more.
                let _ = stream.set_nodelay(true);
                let (serving, open) = (serve(stream, from), open.clone());
                let protocol = protocol.to_owned();
                tokio::spawn(async move {
                    if let Err(error) = serving.await {
                        tracing::debug!("a {protocol} connection from {from} ended: {error}");
                    }
                    drop(open);
                });
            }
            Err(error) => {
                tracing::warn!("a {protocol} connection can't be accepted: {error}");
                // As when there are too many open files: there is nothing to do but to let some close.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop((listener, open));
    all_closed.recv().await;
}
