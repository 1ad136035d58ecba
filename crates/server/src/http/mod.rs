//! Every RPC as JSON over HTTP, at the paths that its `.proto` file gives it.
//!
//! There is no second implementation of anything. A request is matched with a path ([`table`]), made into the
//! RPC's own message ([`request`]), given to the same RPCs that gRPC has ([`gateway`]), and
//! their answer is written as JSON ([`answer`]). So each check, limit and error detail is the one that gRPC
//! has. All of it goes by the descriptors: a new RPC needs nothing here.

mod answer;
mod connection;
mod gateway;
mod guard;
mod openapi;
mod request;
mod schedule_history;
mod table;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::{Code, Status};

use self::answer::Format;
use self::gateway::Gateway;
use self::guard::Guard;
use self::table::{Found, Table};
use crate::listen::listen;
use crate::services::Services;

/// Who may call over HTTP. The default trusts this machine's own programs and no web page.
#[derive(Debug, Clone, Default)]
pub struct HttpConfig {
    /// Origins of web pages that may call and read the answers, as in `https://ops.example.com`; `*` for all.
    pub cors_origins: Vec<String>,
    /// Names of this server that callers may use, beside `localhost` and addresses; `*` for all. It matters
    /// when the server listens on this machine alone, so that no page elsewhere reaches it by a name of its own.
    pub allowed_hosts: Vec<String>,
}

/// What an answer is made of.
type Answer = Response<Full<Bytes>>;

/// A client has this long to send the head of a request, and its body.
const READ_TIME: Duration = Duration::from_secs(30);

/// Everything a request needs.
struct Api {
    gateway: Gateway,
    guard: Guard,
    request_bytes_max: usize,
}

/// Serves the API on `listener` until `stopping` becomes true, and then until the requests under way have
/// their answers.
pub(crate) async fn serve(
    listener: TcpListener,
    services: Arc<Services>,
    config: &HttpConfig,
    stopping: watch::Receiver<bool>,
) {
    let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let request_bytes_max = services.request_bytes_max();
    let gateway = Gateway(services);
    let api = Arc::new(Api { gateway, guard: Guard::new(config, is_local), request_bytes_max });
    listen(listener, "HTTP", stopping.clone(), |stream, from| {
        connection::serve(stream, from, Arc::clone(&api), stopping.clone())
    })
    .await;
}

impl Api {
    async fn answer(&self, request: Request<Incoming>, from: SocketAddr) -> Answer {
        let leave = match self.guard.admit(request.method(), request.headers()) {
            Ok(leave) => leave,
            Err(refusal) => return answer::refusal(&refusal, Format::default()),
        };
        if let Some(preflight) = leave.preflight() {
            return preflight;
        }
        let mut answer = self.admitted(request, from).await;
        leave.mark(answer.headers_mut());
        answer
    }

    async fn admitted(&self, request: Request<Incoming>, from: SocketAddr) -> Answer {
        let (mut head, body) = request.into_parts();
        let format = Format::of(&head);
        if head.method == Method::HEAD {
            head.method = Method::GET;
        }
        let path = head.uri.path();
        if let Some(document) = openapi::document(path) {
            return match head.method {
                Method::GET => document,
                _ => answer::method_not_allowed(&[Method::GET], format),
            };
        }
        if let Some(schedule_id) = schedule_history::schedule_id(path) {
            if head.method != Method::GET {
                return answer::method_not_allowed(&[Method::GET], format);
            }
            let metadata = request::metadata(&head.headers, from);
            let gateway = &self.gateway;
            return schedule_history::answer(gateway, schedule_id, &head, metadata, format).await;
        }
        let (route, variables) = match Table::get().find(&head.method, path) {
            Found::Route(route, variables) => (route, variables),
            Found::OtherMethods(methods) => return answer::method_not_allowed(&methods, format),
            Found::Nothing => {
                let status = Status::not_found(format!("there is nothing at {path}"));
                return answer::refusal(&status, format);
            }
        };
        let body = match self.read(body).await {
            Ok(body) => body,
            Err((code, status)) => return answer::refusal_as(code, &status, format),
        };
        let message = match request::message(route, &variables, &head, &body) {
            Ok(message) => message,
            Err(error) => {
                return answer::refusal(&Status::invalid_argument(error.to_string()), format);
            }
        };
        let metadata = request::metadata(&head.headers, from);
        match self.gateway.call(&route.rpc, &message, metadata).await {
            Ok(message) => answer::message(&message, format),
            Err(status) => answer::refusal(&status, format),
        }
    }

    async fn read(&self, body: Incoming) -> Result<Bytes, (StatusCode, Status)> {
        let max = self.request_bytes_max;
        let reading = tokio::time::timeout(READ_TIME, Limited::new(body, max).collect());
        match reading.await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err((
                StatusCode::PAYLOAD_TOO_LARGE,
                Status::new(
                    Code::ResourceExhausted,
                    format!("the body is larger than {max} bytes"),
                ),
            )),
            Ok(Err(error)) => Err((
                StatusCode::BAD_REQUEST,
                Status::invalid_argument(format!("the body can't be read: {error}")),
            )),
            Err(_) => Err((
                StatusCode::REQUEST_TIMEOUT,
                Status::deadline_exceeded(format!("the body didn't arrive within {READ_TIME:?}")),
            )),
        }
    }
}
