//! Responses: a message or an error, as JSON.

use bytes::Bytes;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use perennial_proto::descriptors;
use perennial_proto::json::{self, Payloads};
use perennial_proto::prost_reflect::DynamicMessage;
use serde_json::{Value, json};
use tonic::{Code, Status};

use super::{HttpResponse, full};
use crate::errors::{RETRY_AFTER_MILLIS, bounded};

/// Query parameters that choose the format of the response.
pub(super) const PRETTY: &str = "pretty";
pub(super) const WITHOUT_SHORTHAND: &str = "noPayloadShorthand";

/// The format of the response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    is_pretty: bool,
    payloads: Payloads,
}

impl Default for Format {
    fn default() -> Self {
        Self { is_pretty: false, payloads: Payloads::Shorthand }
    }
}

impl Format {
    /// The format that the query or the `Accept` header asks for.
    pub(super) fn of(head: &Parts) -> Self {
        let query = head.uri.query().unwrap_or_default();
        let requested = |name| {
            let mut names = query.split('&').map(|pair| pair.split('=').next().unwrap_or(pair));
            names.any(|given| given == name)
        };
        let (pretty, full) = (requested(PRETTY), requested(WITHOUT_SHORTHAND));
        if pretty || full {
            return Self::new(pretty, full);
        }
        let accepted = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        accepted
            .into_iter()
            .flat_map(|accepted| accepted.split(','))
            .filter_map(|kind| kind.split(';').next()?.trim().strip_prefix("application/json+"))
            .find_map(|kind| match kind {
                "pretty" => Some(Self::new(true, false)),
                "no-payload-shorthand" => Some(Self::new(false, true)),
                "pretty+no-payload-shorthand" => Some(Self::new(true, true)),
                _ => None,
            })
            .unwrap_or_default()
    }

    fn new(is_pretty: bool, full: bool) -> Self {
        Self { is_pretty, payloads: if full { Payloads::Full } else { Payloads::Shorthand } }
    }

    fn content_type(self) -> &'static str {
        match (self.is_pretty, self.payloads) {
            (false, Payloads::Shorthand) => "application/json",
            (true, Payloads::Shorthand) => "application/json+pretty",
            (false, Payloads::Full) => "application/json+no-payload-shorthand",
            (true, Payloads::Full) => "application/json+pretty+no-payload-shorthand",
        }
    }
}

/// The response message of an RPC, as text.
pub(super) fn message(message: &DynamicMessage, format: Format) -> Vec<u8> {
    text(&json::encode(message, format.payloads), format)
}

/// Any JSON, as text.
pub(super) fn text(value: &Value, format: Format) -> Vec<u8> {
    let text =
        if format.is_pretty { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) };
    // Only a map whose keys aren't text fails to encode, and a `Value` has none.
    text.unwrap_or_default()
}

/// A response with JSON text.
pub(super) fn json(code: StatusCode, text: Bytes, format: Format) -> HttpResponse {
    let mut response = Response::new(full(text));
    *response.status_mut() = code;
    let content_type = HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// A response with an error: the same code, message and details as over gRPC.
pub(super) fn refusal(status: &Status, format: Format) -> HttpResponse {
    refusal_as(http_code(status.code()), status, format)
}

/// A response with an error and this HTTP status code.
pub(super) fn refusal_as(code: StatusCode, status: &Status, format: Format) -> HttpResponse {
    let status = bounded(status.clone());
    let mut response =
        json(code, text(&status_json(&status, format.payloads), format).into(), format);
    if code == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = retry_after_seconds(&status) {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// When the client may try again, if the error says so.
fn retry_after_seconds(status: &Status) -> Option<u64> {
    let millis = status.metadata().get(RETRY_AFTER_MILLIS)?.to_str().ok()?;
    Some(millis.parse::<u64>().ok()?.div_ceil(1_000))
}

/// The path exists, but not for this method.
pub(super) fn method_not_allowed(methods: &[Method], format: Format) -> HttpResponse {
    let mut names: Vec<_> = methods.iter().map(Method::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let names = names.join(", ");
    let status = Status::unimplemented(format!("the method isn't allowed here; allowed: {names}"));
    let mut response = refusal_as(StatusCode::METHOD_NOT_ALLOWED, &status, format);
    if let Ok(names) = HeaderValue::try_from(names) {
        response.headers_mut().insert(ALLOW, names);
    }
    response
}

fn status_json(status: &Status, payloads: Payloads) -> Value {
    let details = (!status.details().is_empty())
        .then(|| descriptors().get_message_by_name("google.rpc.Status"))
        .flatten()
        .and_then(|descriptor| DynamicMessage::decode(descriptor, status.details()).ok())
        .map(|message| json::encode(&message, payloads));
    let mut json = json!({ "code": i32::from(status.code()), "message": status.message() });
    if let (Value::Object(json), Some(Value::Object(mut detailed))) = (&mut json, details)
        && let Some(details) = detailed.remove("details")
    {
        json.insert("details".to_owned(), details);
    }
    json
}

/// The HTTP status code for a gRPC code.
fn http_code(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::Cancelled => StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
