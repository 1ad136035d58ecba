//! Clients that connect and then send nothing, or an incomplete request.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use perennial_server::{ConnectionLimits, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::codegen::http::Request;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::ServiceExt;

use crate::hostile::test_server::{TestServer, WORKFLOW_SERVICE, status_of};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

async fn with(connections: ConnectionLimits) -> TestServer {
    TestServer::with(ServerConfig { connections, ..ServerConfig::default() }).await
}

/// Waits until the server closes the connection; the test hangs if it doesn't.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    // The read may end with an error or with data: both mean that the connection is closed.
    let _ = stream.read_to_end(&mut rest).await;
    true
}

/// A body that never ends after its first piece.
struct HalfSent(Option<Bytes>);

impl Body for HalfSent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(Frame::data(piece)))))
    }
}

fn half_a_call() -> Request<tonic::body::Body> {
    let body = HalfSent(Some(Bytes::from_static(&[0, 0, 0, 1, 0, 7, 7])));
    Request::post(format!("/{WORKFLOW_SERVICE}/GetSystemInfo"))
        .header("content-type", "application/grpc")
        .body(tonic::body::Body::new(body))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_without_a_preface_is_closed() {
    let handshake_time = Duration::from_millis(50);
    let limits = ConnectionLimits { handshake_time, ..ConnectionLimits::default() };
    let server = with(limits).await;
    for begun in [&b""[..], &PREFACE[..10], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = TcpStream::connect(server.grpc).await.unwrap();
        stream.write_all(begun).await.unwrap();
        assert!(is_closed(&mut stream).await);
    }
    server.assert_well().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_requests_time_out() {
    let request_time = Duration::from_millis(50);
    let server = with(ConnectionLimits { request_time, ..ConnectionLimits::default() }).await;
    let answer = server.channel().await.oneshot(half_a_call()).await.unwrap();
    let status = status_of(&answer);
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    assert_eq!(status.message(), "the message didn't arrive within 50ms");

    for begun in [
        "GET /api/v1/sys",
        "POST /api/v1/namespaces/default/workflows/w HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ] {
        let mut stream = TcpStream::connect(server.http).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        assert!(is_closed(&mut stream).await);
    }
    server.assert_well().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_requests_do_not_delay_the_shutdown() {
    let day = Duration::from_secs(24 * 3_600);
    let (handshake_time, request_time) = (day, day);
    let server =
        with(ConnectionLimits { handshake_time, request_time, ..ConnectionLimits::default() })
            .await;
    let silent = TcpStream::connect(server.grpc).await.unwrap();
    let mut begun = TcpStream::connect(server.grpc).await.unwrap();
    begun.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
    begun.read_exact(&mut [0; 9]).await.unwrap();

    let channel = server.channel().await;
    let half = tokio::spawn(channel.clone().oneshot(half_a_call()));
    let mut health = HealthClient::new(channel);
    let watch = HealthCheckRequest { service: WORKFLOW_SERVICE.to_owned() };
    let mut watching = health.watch(watch).await.unwrap().into_inner();
    assert!(watching.message().await.unwrap().is_some());

    let mut body = TcpStream::connect(server.http).await.unwrap();
    let head = b"POST /api/v1/namespaces/default/workflows/w HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{";
    body.write_all(head).await.unwrap();
    server.stop().await;
    drop((silent, begun, half, watching, body));
}

#[tokio::test(flavor = "multi_thread")]
async fn number_of_connections_is_limited() {
    let limits = ConnectionLimits {
        grpc_connections_max: 2,
        http_connections_max: 1,
        ..ConnectionLimits::default()
    };
    let server = with(limits).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.grpc).await.unwrap();
        stream.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
        // The connection is served: the server sends its settings.
        stream.read_exact(&mut [0; 9]).await.unwrap();
        held.push(stream);
    }
    let mut third = TcpStream::connect(server.grpc).await.unwrap();
    assert!(is_closed(&mut third).await);
    let kept = TcpStream::connect(server.http).await.unwrap();
    let mut second = TcpStream::connect(server.http).await.unwrap();
    assert!(is_closed(&mut second).await);
    drop((held, kept));
    // New connections are accepted once the server has noticed.
    loop {
        let mut stream = TcpStream::connect(server.grpc).await.unwrap();
        let sent = stream.write_all(&[PREFACE, SETTINGS].concat()).await;
        if sent.is_ok() && stream.read_exact(&mut [0; 9]).await.is_ok() {
            break;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_frame_holds_the_limit_of_concurrent_calls() {
    let server = with(ConnectionLimits { streams_max: 77, ..ConnectionLimits::default() }).await;
    let mut stream = TcpStream::connect(server.grpc).await.unwrap();
    stream.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    assert_eq!(head[3], 4, "the first frame has the settings");
    let mut settings = vec![0; length];
    stream.read_exact(&mut settings).await.unwrap();
    let streams = settings.chunks(6).find(|setting| setting[..2] == [0, 3]).unwrap();
    assert_eq!(streams[2..], 77_u32.to_be_bytes());
    server.stop().await;
}
