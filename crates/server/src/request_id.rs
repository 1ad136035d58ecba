//! The id of a call, by which its lines in the log are found.

use std::fmt;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use tonic::Status;

/// The header with which clients choose the id of a call.
pub(crate) const CHOSEN_BY_CLIENT: &str = "x-request-id";
/// The header of error responses that tells the id of the call.
const TOLD_TO_CLIENT: HeaderName = HeaderName::from_static("perennial-request-id");
/// The longest id that clients may choose, in bytes.
const MAX_BYTES: usize = 64;

/// The id of a call in the log and in its trace: short, and unique unless the client has chosen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Origin);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Random(u64),
    Client(Arc<str>),
}

impl RequestId {
    /// A new id.
    pub fn random() -> Self {
        Self(Origin::Random(fastrand::u64(..)))
    }

    /// The id that a client has chosen, or a new one if it isn't fit for a line of the log.
    pub(crate) fn of_client(chosen: Option<&str>) -> Self {
        let is_fit = |id: &&str| {
            (1..=MAX_BYTES).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match chosen.filter(is_fit) {
            Some(id) => Self(Origin::Client(id.into())),
            None => Self::random(),
        }
    }

    /// The id of a call that is refused because nobody knows its caller. Logs the refusal.
    pub(crate) fn of_unknown_caller(head: &Parts, refusal: &Status) -> Self {
        let chosen = head.headers.get(CHOSEN_BY_CLIENT).and_then(|id| id.to_str().ok());
        let request_id = Self::of_client(chosen);
        let (path, code) = (head.uri.path(), refusal.code());
        tracing::debug!(%request_id, path, ?code, "refused a caller: {}", refusal.message());
        request_id
    }

    /// Adds it to the headers of a response.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&self.to_string()) {
            headers.insert(TOLD_TO_CLIENT, value);
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Origin::Random(number) => write!(out, "{number:016x}"),
            Origin::Client(id) => out.write_str(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_a_client_is_taken_if_it_is_fit_for_the_log() {
        let longest = "x".repeat(64);
        for good in ["a", "order-7/retry:2", &longest] {
            assert_eq!(RequestId::of_client(Some(good)).to_string(), good);
        }
        let too_long = "x".repeat(65);
        for bad in ["", "a b", "a\tb", "\u{e9}", &too_long] {
            let id = RequestId::of_client(Some(bad)).to_string();
            assert_ne!(id, bad);
            assert_eq!(id.len(), 16);
        }
        assert_ne!(RequestId::of_client(None), RequestId::of_client(None));
    }
}
