//! gRPC: connections, and each call from its frames to its answer.
//!
//! Every RPC of the API takes one message and gives one. So a call is read here as a whole, handed to the table
//! of RPCs as bytes, and its answer is one frame. Health and reflection, which have streams, are the crates'
//! that everyone uses.

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tonic::Status;
use tonic::metadata::MetadataMap;

use self::auxiliary_services::AuxiliaryServices;
use self::batched_writer::batched;
use self::health::Health;
use self::response::Body;
use crate::call::timeout;
use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, bounded};
use crate::listen::{ConnectionError, ConnectionLimits, InFlight, finish, listen};
use crate::memory::MemoryBudget;
use crate::services::{RpcHandle, Services};

/// A connection that nothing is heard of is asked whether it is there.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);
/// And has this long to answer.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// What one request may send before it is read: the largest one takes a few turns.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// What all requests of a connection may send before they are read. The transport also takes its measure of
/// small requests at once from it, and hangs up on a client that has more: with the usual 64 KB some hundreds.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// Everything a call needs.
struct Api {
    services: Arc<Services>,
    auxiliary: AuxiliaryServices,
    limits: ConnectionLimits,
    /// For messages that have arrived in part.
    incomplete: MemoryBudget,
}

/// Serves the API on `listener` until `stopping` becomes true, and then until the calls under way have their
/// answers.
pub(crate) async fn serve(
    listener: TcpListener,
    services: Arc<Services>,
    limits: ConnectionLimits,
    stopping: watch::Receiver<bool>,
) {
    let (auxiliary, reporter) = AuxiliaryServices::new();
    let health = Health::report(reporter, services.runtime().clone()).await;
    tokio::spawn(health.follow(stopping.clone()));
    let connections_max = limits.grpc_connections_max;
    let incomplete = MemoryBudget::new(limits.incomplete_bytes_max, "messages that arrive");
    let api = Arc::new(Api { services, auxiliary, limits, incomplete });
    listen(listener, "gRPC", connections_max, stopping.clone(), |stream, _| {
        serve_connection(stream, Arc::clone(&api), stopping.clone())
    })
    .await;
}

async fn serve_connection(
    mut stream: TcpStream,
    api: Arc<Api>,
    mut stopping: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    tokio::select! {
        begun = preface::read(&mut stream, api.limits.handshake_time) => begun?,
        _ = stopping.wait_for(|stopping| *stopping) => return Ok(()),
    }
    let in_flight = InFlight::default();
    let streams_max = api.limits.streams_max;
    let service = service_fn(|request| {
        let (api, in_flight) = (Arc::clone(&api), in_flight.clone());
        async move { Ok::<_, Infallible>(api.answer(request, &in_flight).await) }
    });
    let (stream, mut driver) = batched(stream);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(streams_max)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(preface::with_preface(stream)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = driver.drive(connection.as_mut()) => return Ok(ended?),
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    let ended = finish(driver.drive(connection), &in_flight).await;
    Ok(ended.transpose().map(Option::unwrap_or_default)?)
}

impl Api {
    async fn answer(&self, request: Request<Incoming>, in_flight: &InFlight) -> Response<Body> {
        let (head, body) = request.into_parts();
        if !is_grpc(&head) {
            return response::not_grpc();
        }
        let Some(rpc) = self.services.find(head.uri.path()) else {
            return self.auxiliary.answer(Request::from_parts(head, body)).await;
        };
        let takes_gzip = frame::takes_gzip(&head.headers);
        let time = timeout(&head.headers);
        let answering = self.call(rpc, head.headers, body, in_flight);
        let answered = match time {
            Some(time) => tokio::time::timeout(time, answering).await.unwrap_or_else(|_| {
                Err(Status::deadline_exceeded("the time that the client gave the call is over"))
            }),
            None => answering.await,
        };
        match answered {
            Ok(message) => response::message(message, takes_gzip),
            Err(status) => bounded(status).into_http(),
        }
    }

    async fn call(
        &self,
        rpc: RpcHandle,
        headers: HeaderMap,
        body: Incoming,
        in_flight: &InFlight,
    ) -> RpcResult<EncodedMessage> {
        let bytes_max = self.services.request_bytes_max();
        let request_time = self.limits.request_time;
        let reading = frame::read(body, &headers, bytes_max, &self.incomplete);
        let Ok(message) = tokio::time::timeout(request_time, reading).await else {
            let message = format!("the message didn't arrive within {request_time:?}");
            return Err(Status::deadline_exceeded(message));
        };
        let message = message?;
        let _request = in_flight.begin();
        // Held while the call is under way.
        let _admitted = self.services.admit(message.len())?;
        rpc.call(MetadataMap::from_headers(headers), message).await
    }
}

/// Browsers and port scanners aren't.
fn is_grpc(head: &Parts) -> bool {
    let content_type = head.headers.get(header::CONTENT_TYPE);
    let says_grpc = content_type.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc"));
    head.method == Method::POST && says_grpc
}
