//! Instants and spans, in whole nanoseconds.

use perennial_proto::{Duration, Timestamp};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// An instant: Unix nanoseconds. Zero means *none* wherever a time is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

impl Time {
    /// No time at all.
    pub const NONE: Self = Self(0);

    /// The time as it is optional.
    pub fn get(self) -> Option<Self> {
        (self.0 != 0).then_some(self)
    }

    /// This much later; stays at the end of time rather than overflow.
    pub fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How long from `earlier` to this one; never negative.
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

/// A length of time in nanoseconds. Zero means *none* wherever a timeout is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub i64);

/// The longest span there is on the wire: a hundred years.
const WIRE_SECONDS_MAX: i64 = 100 * 365 * 24 * 3_600;

/// A duration that may be left out but not be negative; an absurdly long one is shortened.
///
/// # Errors
/// What is wrong with it.
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
    /// No time.
    pub const ZERO: Self = Self(0);

    /// So many seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(NANOS_PER_SECOND))
    }

    /// So many milliseconds.
    pub const fn millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A timeout as it is optional: absent, zero and negative all mean none.
    pub fn get(self) -> Option<Self> {
        (self.0 > 0).then_some(self)
    }

    /// The span an optional message holds; zero if there is none.
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
