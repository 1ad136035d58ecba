//! Every RPC as JSON over HTTP, at the paths that its `.proto` file gives it.
//!
//! There is no second implementation of anything. A request is matched with a path ([`routes`]), made into the
//! RPC's message ([`request`]), and passed to the table of RPCs that gRPC uses. The response is written as JSON
//! ([`response`]). [`transcode`] bounds the memory of both. So every check, limit and error detail is the same as over
//! gRPC. Everything follows from the descriptors: a new RPC needs nothing here.

mod browser_policy;
mod connection;
mod health;
mod metrics;
mod openapi;
mod request;
mod response;
mod routes;
mod schedule_history;
mod transcode;
mod write_timeout;

pub(crate) use self::metrics::serve as serve_metrics;

use std::convert::Infallible;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use perennial_proto::prost_reflect::MethodDescriptor;
use perennial_telemetry::Protocol;
use tonic::Status;

use self::browser_policy::BrowserPolicy;
use self::health::Probe;
use self::response::Format;
use self::routes::{RouteMatch, RouteTable};
use self::transcode::Transcoder;
use crate::access::Caller;
use crate::call_context::{CallContext, Face};
use crate::listen::{InFlight, ListenerLimits, listen};
use crate::memory::Reservation;
use crate::request_id::RequestId;
use crate::services::Services;
use crate::stop_signal::StopSignal;
use crate::transport::Accept;

/// Which web pages may call over HTTP. By default programs may, and web pages may not.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Origins of web pages that may call and read responses, as in `https://ops.example.com`; `*` for all.
    pub cors_origins: Vec<String>,
    /// Host names of this server, beside `localhost` and IP addresses; `*` for all. Checked if any are given, or if
    /// the server listens on loopback alone: it prevents DNS rebinding.
    pub allowed_hosts: Vec<String>,
    /// Bytes of memory for all requests and responses while they are decoded and encoded. JSON takes many times the
    /// memory of the same message over gRPC. Requests that don't fit are refused, and may be retried.
    pub memory_bytes: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self { cors_origins: Vec::new(), allowed_hosts: Vec::new(), memory_bytes: 64 * 1024 * 1024 }
    }
}

/// A response whose body is whole, or arrives in pieces.
type HttpResponse = Response<Body>;

/// The body of a response: [`full`], or any other [`hyper::body::Body`].
type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body that is known as a whole.
fn full(bytes: Bytes) -> Body {
    Full::new(bytes).boxed_unsync()
}

/// What all HTTP connections share.
struct HttpApi {
    services: Services,
    browsers: BrowserPolicy,
    transcoder: Transcoder,
}

/// Serves the API on `listener` until `stopping` is set, and then until all requests in progress have their responses.
pub(crate) async fn serve(listener: Box<dyn Accept>, services: Services, stopping: StopSignal) {
    let config = &services.config().http;
    let limits = &services.config().connections;
    let limits = ListenerLimits {
        connections_max: limits.http_connections_max,
        handshake_time: limits.handshake_time,
    };
    let metrics = services.runtime().metrics().connections(Protocol::Http);
    let api = Arc::new(HttpApi {
        browsers: BrowserPolicy::new(config, listener.is_local()),
        transcoder: Transcoder::new(config.memory_bytes),
        services,
    });
    let until = stopping.clone();
    listen(listener, metrics, limits, stopping, move |connection| {
        connection::serve(connection, Arc::clone(&api), until.clone())
    })
    .await;
}

impl HttpApi {
    async fn respond(&self, request: Request<Incoming>, in_flight: &InFlight) -> HttpResponse {
        let admission = match self.browsers.admit(request.method(), request.headers()) {
            Ok(admission) => admission,
            Err(refusal) => return response::refusal(&refusal, Format::default()),
        };
        if let Some(preflight) = admission.preflight() {
            return preflight;
        }
        let mut response = self.admitted(request, in_flight).await;
        admission.add_headers(response.headers_mut());
        response
    }

    async fn admitted(&self, request: Request<Incoming>, in_flight: &InFlight) -> HttpResponse {
        let (mut head, body) = request.into_parts();
        let format = Format::of(&head);
        if head.method == Method::HEAD {
            head.method = Method::GET;
        }
        // Probes have no credentials.
        if let Some(probe) = Probe::at(head.uri.path()) {
            return match head.method {
                Method::GET => probe.respond(&self.services, format),
                _ => response::method_not_allowed(&[Method::GET], format),
            };
        }
        // Before anything of the body is read.
        let context = match self.context(&head).await {
            Ok(context) => context,
            Err(status) => {
                let mut response = response::refusal(&status, format);
                RequestId::of_unknown_caller(&head, &status).tell(response.headers_mut());
                return response;
            }
        };
        let path = head.uri.path();
        if let Some(document) = openapi::document(path) {
            return match head.method {
                Method::GET => document,
                _ => response::method_not_allowed(&[Method::GET], format),
            };
        }
        if let Some(schedule_id) = schedule_history::schedule_id(path) {
            if head.method != Method::GET {
                return response::method_not_allowed(&[Method::GET], format);
            }
            let _request = in_flight.begin();
            return schedule_history::respond(self, schedule_id, &head, context, format).await;
        }
        let (route, variables) = match RouteTable::get().find(&head.method, path) {
            RouteMatch::Matched(route, variables) => (route, variables),
            RouteMatch::OtherMethods(methods) => {
                return response::method_not_allowed(&methods, format);
            }
            RouteMatch::NotFound => {
                let status = Status::not_found(format!("there is nothing at {path}"));
                return response::refusal(&status, format);
            }
        };
        let (body, reserved) = match self.read(body).await {
            Ok(read) => read,
            Err((code, status)) => {
                if let Some(rpc) = self.services.find(&rpc_path(&route.rpc)) {
                    rpc.record_unread(&status);
                }
                return response::refusal_as(code, &status, format);
            }
        };
        let _request = in_flight.begin();
        let request_id = context.request_id.clone();
        let call = async {
            let build = move |body: &[u8]| request::message(route, &variables, &head, body);
            let message = self.transcoder.read(body, reserved, build).await?;
            let message = self.call(&route.rpc, context, message).await?;
            let write = move |message| response::message(&message, format);
            self.transcoder.write(&route.rpc, message, write).await
        };
        match call.await {
            Ok(text) => response::json(StatusCode::OK, text, format),
            Err(status) => {
                let mut response = response::refusal(&status, format);
                request_id.tell(response.headers_mut());
                response
            }
        }
    }

    async fn context(&self, head: &Parts) -> Result<CallContext, Status> {
        let header = |name: &'static str| request::header(&head.headers, name);
        let caller = Caller::new(&head.headers, request::CREDENTIALS, &head.extensions);
        let principal = self.services.shared().principal(caller).await?;
        Ok(CallContext::from_headers(Face::Http, principal, header))
    }

    /// Calls an RPC with its message as bytes.
    async fn call(
        &self,
        rpc: &MethodDescriptor,
        context: CallContext,
        message: Bytes,
    ) -> Result<Bytes, Status> {
        self.services.call(&rpc_path(rpc), context, message).await
    }

    /// The body, with the reservation of its memory.
    async fn read(&self, body: Incoming) -> Result<(Bytes, Reservation), (StatusCode, Status)> {
        let time = self.services.config().connections.request_time;
        tokio::time::timeout(time, self.receive(body)).await.unwrap_or_else(|_| {
            let late = format!("the body didn't arrive within {time:?}");
            Err((StatusCode::REQUEST_TIMEOUT, Status::deadline_exceeded(late)))
        })
    }

    async fn receive(
        &self,
        mut body: Incoming,
    ) -> Result<(Bytes, Reservation), (StatusCode, Status)> {
        let max = self.services.config().request_bytes_max;
        let (mut whole, mut reserved) = (BytesMut::new(), self.transcoder.empty_reservation());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let unread = format!("the body can't be read: {error}");
                (StatusCode::BAD_REQUEST, Status::invalid_argument(unread))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > max {
                let large = format!("the body is larger than {max} bytes");
                return Err((StatusCode::PAYLOAD_TOO_LARGE, Status::resource_exhausted(large)));
            }
            reserved.grow(data.len()).map_err(|used| (StatusCode::TOO_MANY_REQUESTS, used))?;
            whole.extend_from_slice(&data);
        }
        Ok((whole.freeze(), reserved))
    }
}

/// The path of an RPC in the table of RPCs.
fn rpc_path(rpc: &MethodDescriptor) -> String {
    format!("/{}/{}", rpc.parent_service().full_name(), rpc.name())
}
