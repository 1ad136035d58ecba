//! gRPC: connections, and each call from its frames to its response.
//!
//! Every RPC of the API is unary. So a call is read as a whole, handed to the table of RPCs as bytes, and its response
//! is one frame. Health and reflection, which stream, come from tonic's crates.

mod auxiliary_services;
mod batched_writer;
mod frame;
mod health;
mod lazy_service;
mod preface;
mod response;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use perennial_telemetry::Protocol;
use tonic::Status;

use self::auxiliary_services::AuxiliaryServices;
use self::batched_writer::batched;
use self::health::Health;
use self::response::Body;
use crate::access::Caller;
use crate::call_context::{CallContext, Face};
use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, bounded};
use crate::listen::{ConnectionError, InFlight, ListenerLimits, finish, listen};
use crate::memory::MemoryBudget;
use crate::request_id::RequestId;
use crate::services::{RpcHandle, Services};
use crate::stop_signal::StopSignal;
use crate::transport::{Accept, Connection};

/// A ping is sent after this long without a frame from the client.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);
/// The connection is closed when a ping isn't answered within this time.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// The HTTP/2 flow-control window of a stream. The largest request takes a few of them.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// The HTTP/2 flow-control window of a connection. The transport also derives its limit of small requests in flight
/// from it, and closes connections beyond that limit: with the default of 64 KB at some hundreds.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// What all gRPC connections share.
struct GrpcApi {
    services: Services,
    auxiliary: AuxiliaryServices,
    /// For messages that have arrived in part.
    incomplete: MemoryBudget,
}

/// Serves the API on `listener` until `stopping` is set, and then until all calls in progress have their responses.
pub(crate) async fn serve(listener: Box<dyn Accept>, services: Services, stopping: StopSignal) {
    let (auxiliary, reporter) = AuxiliaryServices::new();
    let health = Health::report(reporter, services.clone()).await;
    let health = tokio::spawn(health.follow(stopping.clone()));
    let limits = &services.config().connections;
    let listener_limits = ListenerLimits {
        connections_max: limits.grpc_connections_max,
        handshake_time: limits.handshake_time,
    };
    let incomplete = MemoryBudget::new(limits.incomplete_bytes_max, "messages that arrive");
    let metrics = services.runtime().metrics().connections(Protocol::Grpc);
    let api = Arc::new(GrpcApi { services, auxiliary, incomplete });
    let until = stopping.clone();
    listen(listener, metrics, listener_limits, stopping, move |connection| {
        serve_connection(connection, Arc::clone(&api), until.clone())
    })
    .await;
    if let Err(error) = health.await {
        tracing::error!("the health service ended early: {error}");
    }
}

async fn serve_connection(
    connection: Connection,
    api: Arc<GrpcApi>,
    mut stopping: StopSignal,
) -> Result<(), ConnectionError> {
    let Connection { mut stream, peer: _, peer_certificate, mut revoked } = connection;
    let limits = &api.services.config().connections;
    tokio::select! {
        read = preface::read(&mut stream, limits.handshake_time) => read?,
        () = stopping.wait() => return Ok(()),
    }
    let in_flight = InFlight::default();
    let peer = api.services.shared().access().peer(peer_certificate.as_deref());
    let service = service_fn(|mut request: Request<Incoming>| {
        let (api, in_flight) = (Arc::clone(&api), in_flight.clone());
        request.extensions_mut().insert(peer.clone());
        async move { Ok::<_, Infallible>(api.respond(request, &in_flight).await) }
    });
    let (stream, mut driver) = batched(stream);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(limits.streams_max)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(preface::with_preface(stream)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = driver.drive(connection.as_mut()) => return Ok(ended?),
        reason = revoked.wait() => return Err(ConnectionError::Revoked(reason)),
        () = stopping.wait() => {}
    }
    connection.as_mut().graceful_shutdown();
    let ended = finish(driver.drive(connection), &in_flight).await;
    Ok(ended.transpose().map(Option::unwrap_or_default)?)
}

impl GrpcApi {
    async fn respond(&self, request: Request<Incoming>, in_flight: &InFlight) -> Response<Body> {
        let (head, body) = request.into_parts();
        if !is_grpc(&head) {
            return response::not_grpc();
        }
        if auxiliary_services::is_health(head.uri.path()) {
            let limits = &self.services.config().connections;
            return self.auxiliary.respond_to_health(head, body, limits, &self.incomplete).await;
        }
        // Before anything of the message is read.
        let context = match self.context(&head).await {
            Ok(context) => context,
            Err(status) => {
                let request_id = RequestId::of_unknown_caller(&head, &status);
                let mut response = bounded(status).into_http();
                request_id.tell(response.headers_mut());
                return response;
            }
        };
        let Some(rpc) = self.services.find(head.uri.path()) else {
            let request = Request::from_parts(head, body);
            return self.auxiliary.respond_to_stream(request, context.principal).await;
        };
        let accepts_gzip = frame::accepts_gzip(&head.headers);
        let (deadline, request_id) = (context.deadline, context.request_id.clone());
        let call = self.call(rpc, context, &head.headers, body, in_flight);
        let result = match deadline {
            Some(deadline) => tokio::time::timeout_at(deadline, call).await.unwrap_or_else(|_| {
                Err(Status::deadline_exceeded(
                    "the deadline that the client set for the call has passed",
                ))
            }),
            None => call.await,
        };
        match result {
            Ok(message) => response::message(message, accepts_gzip),
            Err(status) => {
                let mut response = bounded(status).into_http();
                request_id.tell(response.headers_mut());
                response
            }
        }
    }

    async fn context(&self, head: &Parts) -> RpcResult<CallContext> {
        let header = |name: &'static str| head.headers.get(name)?.to_str().ok();
        let caller = Caller::new(&head.headers, &["authorization"], &head.extensions);
        let principal = self.services.shared().principal(caller).await?;
        Ok(CallContext::from_headers(Face::Grpc, principal, header))
    }

    async fn call(
        &self,
        rpc: RpcHandle,
        context: CallContext,
        headers: &HeaderMap,
        body: Incoming,
        in_flight: &InFlight,
    ) -> RpcResult<EncodedMessage> {
        let config = self.services.config();
        let request_time = config.connections.request_time;
        let reading = frame::read(body, headers, config.request_bytes_max, &self.incomplete);
        let message = tokio::time::timeout(request_time, reading).await.unwrap_or_else(|_| {
            let message = format!("the message didn't arrive within {request_time:?}");
            Err(Status::deadline_exceeded(message))
        });
        let message = message.inspect_err(|status| rpc.record_unread(status))?;
        let _request = in_flight.begin();
        rpc.call(context, message).await
    }
}

/// Browsers and port scanners send other requests.
fn is_grpc(head: &Parts) -> bool {
    let content_type = head.headers.get(header::CONTENT_TYPE);
    let says_grpc = content_type.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc"));
    head.method == Method::POST && says_grpc
}
