//! One connection: its requests, one after another, and its end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};

use super::write_timeout::WriteTimeout;
use super::{HttpApi, HttpResponse};
use crate::listen::{ConnectionError, InFlight, finish};
use crate::stop_signal::StopSignal;
use crate::transport::Connection;

/// Serves a connection until its client closes it, or `stopping` is set and the request in progress has its response.
/// Browsers keep connections open without a request in progress; those end with the server.
pub(super) async fn serve(
    connection: Connection,
    api: Arc<HttpApi>,
    stopping: StopSignal,
) -> Result<(), ConnectionError> {
    let request_time = api.services.config().connections.request_time;
    let certificate = connection.peer_certificate.clone();
    let peer = api.services.shared().access().peer(certificate.as_deref());
    let respond = |mut request: Request<Incoming>, in_flight: InFlight| {
        let api = Arc::clone(&api);
        request.extensions_mut().insert(peer.clone());
        async move { api.respond(request, &in_flight).await }
    };
    serve_with(connection, request_time, respond, stopping).await
}

/// Bytes of a request's head, which are kept before its caller is known. Tokens may have 16 KB.
const HEAD_BYTES_MAX: usize = 64 * 1024;

pub(super) async fn serve_with<F: Future<Output = HttpResponse>>(
    connection: Connection,
    request_time: Duration,
    respond: impl Fn(Request<Incoming>, InFlight) -> F,
    mut stopping: StopSignal,
) -> Result<(), ConnectionError> {
    let Connection { stream, peer: _, peer_certificate: _, mut revoked } = connection;
    let in_flight = InFlight::default();
    let service = service_fn(|request| {
        let response = respond(request, in_flight.clone());
        async move { Ok::<_, Infallible>(response.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(request_time)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, request_time)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return Ok(ended?),
        reason = revoked.wait() => return Err(ConnectionError::Revoked(reason)),
        () = stopping.wait() => {}
    }
    connection.as_mut().graceful_shutdown();
    Ok(finish(connection, &in_flight).await.transpose().map(Option::unwrap_or_default)?)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use bytes::Bytes;
    use http_body_util::BodyExt;
    use hyper::Response;
    use hyper::body::Frame;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::mpsc;

    use super::*;
    use crate::stop_signal::StopSwitch;
    use crate::transport::Stream;

    /// A body whose pieces a test sends.
    struct Pieces(mpsc::Receiver<&'static str>);

    impl hyper::body::Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.poll_recv(context).map(|piece| Some(Ok(Frame::data(piece?.into()))))
        }
    }

    #[tokio::test]
    async fn response_is_sent_piece_by_piece() {
        let (send, pieces) = mpsc::channel(1);
        let (mut client, server) = tokio::io::duplex(1_024);
        let pieces = std::sync::Mutex::new(Some(pieces));
        let respond = move |_, _| {
            let pieces = pieces.lock().unwrap().take().expect("there is one request");
            async { Response::new(Pieces(pieces).boxed_unsync()) }
        };
        let stop = StopSwitch::new();
        let time = Duration::from_secs(3_600);
        let server = Connection::new(Stream::Other(Box::new(server)), "memory".to_owned());
        let serving = tokio::spawn(serve_with(server, time, respond, stop.signal()));
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        client.write_all(request).await.unwrap();
        let mut received = String::new();
        for piece in ["first", "second"] {
            send.send(piece).await.unwrap();
            while !received.contains(piece) {
                let mut bytes = [0; 256];
                let length = client.read(&mut bytes).await.unwrap();
                assert!(length > 0, "the connection ended after {received:?}");
                received += str::from_utf8(&bytes[..length]).unwrap();
            }
        }
        assert!(received.contains("transfer-encoding: chunked"), "{received}");
        drop(send);
        client.read_to_string(&mut received).await.unwrap();
        serving.await.unwrap().unwrap();
    }
}
