//! Every RPC as JSON over HTTP, at the paths that its `.proto` file gives it.
//!
//! There is no second implementation of anything. A request is matched with a path ([`table`]), made into the
//! RPC's own message ([`request`]), given to the same RPCs that gRPC has ([`gateway`]), and
//! their answer is written as JSON ([`answer`]), both within bounds ([`transcode`]). So each check, limit and error detail is the one that gRPC
//! has. All of it goes by the descriptors: a new RPC needs nothing here.

mod access;
mod connection;
mod gateway;
mod openapi;
mod request;
mod response;
mod routes;
mod schedule_history;
mod transcode;
mod write_timeout;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::Status;

use self::access::AccessPolicy;
use self::gateway::Gateway;
use self::response::Format;
use self::routes::{RouteMatch, RouteTable};
use self::transcode::Transcoder;
use crate::listen::{ConnectionLimits, InFlight, listen};
use crate::memory::Reservation;
use crate::services::Services;

/// Who may call over HTTP. The default trusts this machine's own programs and no web page.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Origins of web pages that may call and read the answers, as in `https://ops.example.com`; `*` for all.
    pub cors_origins: Vec<String>,
    /// Names of this server that callers may use, beside `localhost` and addresses; `*` for all. It matters
    /// when the server listens on this machine alone, so that no page elsewhere reaches it by a name of its own.
    pub allowed_hosts: Vec<String>,
    /// Memory for all requests and answers while they are read and written, in bytes. JSON takes many times the
    /// memory of the same message over gRPC; requests beyond it are told to try again.
    pub memory_bytes: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self { cors_origins: Vec::new(), allowed_hosts: Vec::new(), memory_bytes: 64 * 1024 * 1024 }
    }
}

/// What an answer is made of.
type HttpResponse = Response<Full<Bytes>>;

/// Everything a request needs.
struct Api {
    gateway: Gateway,
    access: AccessPolicy,
    transcoder: Transcoder,
    request_bytes_max: usize,
    /// A client has this long to send the head of a request, and its body, and to take some of an answer.
    request_time: Duration,
}

/// Serves the API on `listener` until `stopping` becomes true, and then until the requests under way have
/// their answers.
pub(crate) async fn serve(
    listener: TcpListener,
    services: Arc<Services>,
    config: &HttpConfig,
    limits: &ConnectionLimits,
    stopping: watch::Receiver<bool>,
) {
    let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let api = Arc::new(Api {
        request_bytes_max: services.request_bytes_max(),
        gateway: Gateway(services),
        access: AccessPolicy::new(config, is_local),
        transcoder: Transcoder::new(config.memory_bytes),
        request_time: limits.request_time,
    });
    let connections_max = limits.http_connections_max;
    listen(listener, "HTTP", connections_max, stopping.clone(), |stream, from| {
        connection::serve(stream, from, Arc::clone(&api), stopping.clone())
    })
    .await;
}

impl Api {
    async fn answer(
        &self,
        request: Request<Incoming>,
        from: SocketAddr,
        in_flight: &InFlight,
    ) -> HttpResponse {
        let admission = match self.access.admit(request.method(), request.headers()) {
            Ok(admission) => admission,
            Err(refusal) => return response::refusal(&refusal, Format::default()),
        };
        if let Some(preflight) = admission.preflight() {
            return preflight;
        }
        let mut answer = self.admitted(request, from, in_flight).await;
        admission.mark(answer.headers_mut());
        answer
    }

    async fn admitted(
        &self,
        request: Request<Incoming>,
        from: SocketAddr,
        in_flight: &InFlight,
    ) -> HttpResponse {
        let (mut head, body) = request.into_parts();
        let format = Format::of(&head);
        if head.method == Method::HEAD {
            head.method = Method::GET;
        }
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
            let metadata = request::metadata(&head.headers, from);
            let api = (&self.gateway, &self.transcoder);
            return schedule_history::answer(api, schedule_id, &head, metadata, format).await;
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
            Err((code, status)) => return response::refusal_as(code, &status, format),
        };
        let _request = in_flight.begin();
        let metadata = request::metadata(&head.headers, from);
        let answering = async {
            let build = move |body: &[u8]| request::message(route, &variables, &head, body);
            let message = self.transcoder.read(body, reserved, build).await?;
            let answer = self.gateway.call(&route.rpc, message, metadata).await?;
            let write = move |answer| response::message(&answer, format);
            self.transcoder.write(&route.rpc, answer, write).await
        };
        match answering.await {
            Ok(text) => response::json(StatusCode::OK, text, format),
            Err(status) => response::refusal(&status, format),
        }
    }

    /// The body, and the memory it takes.
    async fn read(&self, body: Incoming) -> Result<(Bytes, Reservation), (StatusCode, Status)> {
        let time = self.request_time;
        tokio::time::timeout(time, self.receive(body)).await.unwrap_or_else(|_| {
            let late = format!("the body didn't arrive within {time:?}");
            Err((StatusCode::REQUEST_TIMEOUT, Status::deadline_exceeded(late)))
        })
    }

    async fn receive(
        &self,
        mut body: Incoming,
    ) -> Result<(Bytes, Reservation), (StatusCode, Status)> {
        let max = self.request_bytes_max;
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
