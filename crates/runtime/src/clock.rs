//! Monotonic real time, beside the time that entities see.
//!
//! Entities live in [`Time`](perennial_engine::Time), which an operator may set and a test may move. How long a poll
//! waits and how many tasks a second a queue hands out is a matter of real time: that is measured with [`Monotonic`],
//! so the two can't be mixed up.

use std::time::Duration;

/// An instant of real time. It only goes forward, also while the machine is suspended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Monotonic(Duration);

impl Monotonic {
    /// The instant so long after the clock began.
    pub(crate) fn at(since_begin: Duration) -> Self {
        Self(since_begin)
    }

    /// How long ago an earlier instant was; nothing if it is later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant so much later.
    pub(crate) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }
}
