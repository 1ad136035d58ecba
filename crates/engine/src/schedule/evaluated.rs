//! Who evaluates schedules as their times come, and since when.

use crate::Time;

/// Tells a time that is due from one that was missed: a time is missed when nothing was evaluating the schedule as
/// it fell due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluated {
    /// The server evaluates, without a gap since this instant. Times that were due before it were missed.
    Since(Time),
    /// Only [`Command::Evaluate`](super::Command::Evaluate) does. Times since the last one are due, not missed.
    OnDemand,
}

impl Evaluated {
    /// Times that were due before this instant were missed.
    pub(super) fn since(self) -> Time {
        match self {
            Self::Since(since) => since,
            Self::OnDemand => Time(i64::MIN),
        }
    }
}
