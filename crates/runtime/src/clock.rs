//! Monotonic real time, a type separate from entity time.
//!
//! Entities use [`Time`](perennial_engine::Time), which an operator may set and a test may move. Poll waits and rate
//! limits use [`Monotonic`], so the compiler keeps the two apart.

use std::time::Duration;

/// An instant of real time. It never goes back, and includes time in which the machine is suspended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Monotonic(Duration);

impl Monotonic {
    /// The instant this long after the clock's origin.
    pub(crate) fn at(since_begin: Duration) -> Self {
        Self(since_begin)
    }

    /// Nanoseconds since the clock's origin.
    pub(crate) fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Time since an earlier instant; zero if it is later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant later by this duration.
    pub(crate) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }
}
