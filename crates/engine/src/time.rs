//! Instants and durations in whole nanoseconds.

use perennial_proto::{Duration, Timestamp};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// An instant in Unix nanoseconds. Zero means *none* wherever a time is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

impl Time {
    /// The value that means *none*.
    pub const NONE: Self = Self(0);

    /// This time as an `Option`: zero is `None`.
    pub fn get(self) -> Option<Self> {
        (self.0 != 0).then_some(self)
    }

    /// The instant this much later; saturates instead of overflowing.
    pub fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The duration from `earlier` to this instant; never negative.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0).max(0))
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self {
            seconds: time.0.div_euclid(NANOS_PER_SECOND),
            nanos: time.0.rem_euclid(NANOS_PER_SECOND) as i32,
        }
    }
}

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        let seconds = timestamp.seconds.saturating_mul(NANOS_PER_SECOND);
        Self(seconds.saturating_add(i64::from(timestamp.nanos)))
    }
}

/// A duration in nanoseconds. Zero means *none* wherever a timeout is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub i64);

/// The longest duration in a message: a hundred years, in seconds.
const WIRE_SECONDS_MAX: i64 = 100 * 365 * 24 * 3_600;

/// Checks an optional duration: a negative one is an error, one over a hundred years is shortened.
///
/// # Errors
/// The reason, in Temporal's words.
pub fn checked_duration(duration: Option<&Duration>) -> Result<Option<Duration>, &'static str> {
    let Some(duration) = duration else {
        return Ok(None);
    };
    let (seconds, nanos) = (duration.seconds, duration.nanos);
    if (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0) {
        return Err("duration has seconds and nanos with different signs");
    }
    if seconds < 0 || nanos < 0 {
        return Err("negative duration");
    }
    if seconds >= WIRE_SECONDS_MAX {
        return Ok(Some(Duration { seconds: WIRE_SECONDS_MAX, nanos: 0 }));
    }
    Ok(Some(Duration { seconds, nanos }))
}

impl Span {
    /// The zero duration.
    pub const ZERO: Self = Self(0);

    /// A duration of whole seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(NANOS_PER_SECOND))
    }

    /// A duration of whole milliseconds.
    pub const fn millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A timeout as an `Option`: absent, zero and negative all mean none.
    pub fn get(self) -> Option<Self> {
        (self.0 > 0).then_some(self)
    }

    /// Converts an optional protobuf duration; zero if there is none.
    pub fn of(duration: Option<&Duration>) -> Self {
        duration.map_or(Self::ZERO, |duration| {
            let seconds = duration.seconds.saturating_mul(NANOS_PER_SECOND);
            Self(seconds.saturating_add(i64::from(duration.nanos)))
        })
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self { seconds: span.0 / NANOS_PER_SECOND, nanos: (span.0 % NANOS_PER_SECOND) as i32 }
    }
}
