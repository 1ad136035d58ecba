//! Policies for local times that don't occur, or occur twice, when clocks change.

use std::fmt;

/// The policy of a spec for clock changes. Written `DST=once`, or as two halves: `DST=shift,last`.
///
/// ```
/// use perennial_calendar::{DstPolicy, OnGap, OnRepeat};
/// let policy: DstPolicy = "shift,last".parse()?;
/// assert_eq!(policy, DstPolicy { gap: OnGap::Shift, repeat: OnRepeat::Last });
/// assert_eq!(DstPolicy::ONCE.to_string(), "once");
/// # Ok::<(), perennial_calendar::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DstPolicy {
    /// For times the clock jumps over.
    pub gap: OnGap,
    /// For times the clock shows twice.
    pub repeat: OnRepeat,
}

/// The policy for a local time in a gap, which the clock skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnGap {
    /// The time does not fire.
    Skip,
    /// The time fires later, by the length of the gap: 02:30 becomes 03:30.
    Shift,
}

/// The policy for a local time that occurs twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnRepeat {
    /// Only the earlier.
    First,
    /// Only the later.
    Last,
    /// Both.
    Both,
}

impl DstPolicy {
    /// Fires whenever the clock shows the time, as in Temporal: `skip,both`.
    pub const LITERAL: DstPolicy = DstPolicy { gap: OnGap::Skip, repeat: OnRepeat::Both };
    /// Every civil time fires exactly once: `shift,first`.
    pub const ONCE: DstPolicy = DstPolicy { gap: OnGap::Shift, repeat: OnRepeat::First };
    /// The policy that RFC 5545 requires for recurrence rules: `skip,first`.
    pub const RECURRENCE: DstPolicy = DstPolicy { gap: OnGap::Skip, repeat: OnRepeat::First };
}

impl fmt::Display for DstPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DstPolicy::LITERAL => f.write_str("literal"),
            DstPolicy::ONCE => f.write_str("once"),
            DstPolicy { gap, repeat } => {
                let gap = match gap {
                    OnGap::Skip => "skip",
                    OnGap::Shift => "shift",
                };
                let repeat = match repeat {
                    OnRepeat::First => "first",
                    OnRepeat::Last => "last",
                    OnRepeat::Both => "both",
                };
                write!(f, "{gap},{repeat}")
            }
        }
    }
}
