//! Headers of requests: credentials, traces and timeouts.

use perennial_identity::{ApiKey, bearer_token};

#[path = "../../crates/server/src/grpc_timeout.rs"]
#[allow(dead_code)]
mod grpc_timeout;
/// Included rather than linked: the crates they belong to bring a database and exporters along.
#[path = "../../crates/telemetry/src/trace/context.rs"]
#[allow(dead_code)]
mod trace_context;

/// The same bytes as each of the headers that the server parses itself.
pub fn headers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(token) = bearer_token(text) {
        assert!(!token.is_empty() && text.contains(token), "{token:?}");
        if let Some(key) = ApiKey::parse(token) {
            assert_eq!(key.reveal(), token);
            assert!(!format!("{key:?}").contains(token));
        }
    }
    if let Ok(trace) = text.parse::<trace_context::TraceContext>() {
        assert!(trace.trace_id != 0 && trace.parent_id != 0);
        assert_eq!(trace.to_string().parse(), Ok(trace));
    }
    if let Some(timeout) = grpc_timeout::parse(text) {
        assert!(timeout.as_secs() <= 99_999_999 * 3_600);
    }
}
