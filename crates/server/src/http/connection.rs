//! One connection: its requests, one after another, and its end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::HttpApi;
use super::write_timeout::WriteTimeout;
use crate::listen::{ConnectionError, InFlight, finish};
use crate::stop_signal::StopSignal;

/// Serves a connection until its client closes it, or `stopping` becomes true and the request that is under
/// way has its answer. Browsers keep connections open that nothing is under way on; they end with the server.
pub(super) async fn serve(
    stream: TcpStream,
    api: Arc<HttpApi>,
    mut stopping: StopSignal,
) -> Result<(), ConnectionError> {
    let in_flight = InFlight::default();
    let request_time = api.services.config().connections.request_time;
    let service = service_fn(|request| {
        let (api, in_flight) = (api.clone(), in_flight.clone());
        async move { Ok::<_, Infallible>(api.respond(request, &in_flight).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(request_time)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, request_time)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return Ok(ended?),
        () = stopping.wait() => {}
    }
    connection.as_mut().graceful_shutdown();
    Ok(finish(connection, &in_flight).await.transpose().map(Option::unwrap_or_default)?)
}
