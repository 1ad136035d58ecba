//! The context of a call: caller, deadline, trace and client, apart from the message.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio::time::Instant;

/// The context of a call: caller, deadline, trace and client, apart from the message. The listener makes it from the
/// headers of the request, and passes it to [`Services::call`](crate::Services::call) with the message.
///
/// ```
/// use perennial_server::{CallContext, Face, Principal};
///
/// let context = CallContext::in_process();
/// assert_eq!((context.face, context.principal), (Face::InProcess, Principal::Anonymous));
/// assert!(context.deadline.is_none());
/// ```
#[derive(Debug, Clone)]
pub struct CallContext {
    /// How the request came in.
    pub face: Face,
    /// Who makes the request.
    pub principal: Principal,
    /// When the client stops waiting for the response.
    pub deadline: Option<Instant>,
    /// The client's trace, if the request is part of one.
    pub trace: Option<TraceContext>,
    /// The client's program, as in `temporal-python`. Empty if unknown.
    pub client_name: String,
    /// Optional behaviour that the client understands.
    pub features: ClientFeatures,
}

/// How a request comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// As a gRPC call.
    Grpc,
    /// As JSON over HTTP.
    Http,
    /// As a function call in the same process.
    InProcess,
}

impl Face {
    /// The name of the face in a schedule's audit stream.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
            Self::InProcess => "in-process",
        }
    }
}

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// A caller that hasn't authenticated.
    Anonymous,
}

/// Optional behaviour that a client understands, from its `supported-features` header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientFeatures {
    /// The client follows the run id in any close event. Other clients know it only from continued-as-new.
    pub follows_next_run_id: bool,
}

impl CallContext {
    /// The context of a call in the same process: no deadline, no trace.
    pub fn in_process() -> Self {
        Self {
            face: Face::InProcess,
            principal: Principal::Anonymous,
            deadline: None,
            trace: None,
            client_name: String::new(),
            features: ClientFeatures::default(),
        }
    }

    /// The context of a request with headers, which `header` finds by their names.
    pub(crate) fn from_headers<'a>(
        face: Face,
        header: impl Fn(&'static str) -> Option<&'a str>,
    ) -> Self {
        let timeout = header("grpc-timeout").and_then(parse_timeout);
        let features = header("supported-features").unwrap_or_default();
        Self {
            face,
            principal: Principal::Anonymous,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            trace: header("traceparent").and_then(|text| text.parse().ok()),
            client_name: header("client-name").unwrap_or_default().to_owned(),
            features: ClientFeatures {
                follows_next_run_id: features.split(',').any(|it| it == "follows-next-run-id"),
            },
        }
    }
}

/// Parses `grpc-timeout`: up to eight digits and a unit.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let amount: u64 = if digits.len() <= 8 { digits.parse().ok()? } else { return None };
    Some(match unit {
        "H" => Duration::from_secs(amount * 3_600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

/// A position in a distributed trace: the `traceparent` header of W3C Trace Context.
///
/// ```
/// use perennial_server::TraceContext;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace: TraceContext = header.parse().unwrap();
/// assert_eq!(trace.parent_id, 0x00f0_67aa_0ba9_02b7);
/// assert_eq!(trace.to_string(), header);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The id of the whole trace, never 0.
    pub trace_id: u128,
    /// The id of the caller's span, never 0.
    pub parent_id: u64,
    /// Bit 0: the caller records the trace.
    pub flags: u8,
}

/// The text isn't a valid `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid traceparent header")]
pub struct InvalidTraceparent;

impl FromStr for TraceContext {
    type Err = InvalidTraceparent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceparent> {
        const INVALID_VERSION: u8 = 0xff;
        let mut fields = text.split('-');
        let mut field = |digits: usize| {
            let text = fields.next().filter(|text| text.len() == digits)?;
            let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()
        };
        let parsed = (field(2), field(32), field(16), field(2));
        let (Some(version), Some(trace_id), Some(parent_id), Some(flags)) = parsed else {
            return Err(InvalidTraceparent);
        };
        // Only a later version may have more fields.
        let has_more = fields.next().is_some();
        if version == u128::from(INVALID_VERSION) || (version == 0 && has_more) {
            return Err(InvalidTraceparent);
        }
        let (Ok(parent_id @ 1..), Ok(flags)) = (u64::try_from(parent_id), u8::try_from(flags))
        else {
            return Err(InvalidTraceparent);
        };
        if trace_id == 0 {
            return Err(InvalidTraceparent);
        }
        Ok(Self { trace_id, parent_id, flags })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.parent_id, self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_in_every_unit() {
        let read = |text| parse_timeout(text).map(|timeout| timeout.as_nanos());
        assert_eq!(read("70S"), Some(70_000_000_000));
        assert_eq!(read("1H"), Some(3_600_000_000_000));
        assert_eq!(read("2M"), Some(120_000_000_000));
        assert_eq!(read("69999m"), Some(69_999_000_000));
        assert_eq!(read("5u"), Some(5_000));
        assert_eq!(read("5n"), Some(5));
        for bad in ["", "S", "5", "5x", "-5S", "123456789S", "é"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn context_is_read_from_headers() {
        let header = |name: &str| match name {
            "client-name" => Some("temporal-go"),
            "grpc-timeout" => Some("70S"),
            "supported-features" => Some("child-policy,follows-next-run-id"),
            "traceparent" => Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            _ => None,
        };
        let context = CallContext::from_headers(Face::Grpc, header);
        assert_eq!(context.client_name, "temporal-go");
        assert!(context.deadline.is_some_and(|deadline| deadline > Instant::now()));
        assert!(context.features.follows_next_run_id);
        assert_eq!(context.trace.map(|trace| trace.flags), Some(1));

        let bare = CallContext::from_headers(Face::Http, |_| None);
        assert_eq!((bare.face, bare.deadline, bare.trace), (Face::Http, None, None));
        assert_eq!(bare.features, ClientFeatures::default());
    }

    #[test]
    fn invalid_traceparent_is_refused() {
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more";
        assert!(later.parse::<TraceContext>().is_ok());
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473+-00f067aa0ba902b7-01",
        ] {
            assert_eq!(bad.parse::<TraceContext>(), Err(InvalidTraceparent), "{bad}");
        }
    }
}
