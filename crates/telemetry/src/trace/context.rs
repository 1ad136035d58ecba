//! Positions in distributed traces.

use std::fmt;
use std::str::FromStr;

/// A position in a distributed trace: the `traceparent` header of W3C Trace Context.
///
/// ```
/// use perennial_telemetry::TraceContext;
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

impl TraceContext {
    /// Whether the caller records the trace.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
