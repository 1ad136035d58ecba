//! Who evaluates schedules as their times come, and since when.

use crate::Time;

/// Tells due times from missed times: a time is missed if nothing was evaluating the schedule when it fell due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluated {
    /// The server evaluates schedules, without a gap since this instant. Times that were due before it were missed.
    Since(Time),
    /// Only [`Command::Evaluate`](super::Command::Evaluate) evaluates. Times since the last evaluation are due, not
    /// missed.
    OnDemand,
}

impl Evaluated {
    /// The instant before which due times were missed.
    pub(super) fn since(self) -> Time {
        match self {
            Self::Since(since) => since,
            Self::OnDemand => Time(i64::MIN),
        }
    }
}
