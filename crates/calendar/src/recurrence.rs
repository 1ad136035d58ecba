//! iCalendar recurrence rules (RFC 5545, `DTSTART` and `RRULE`).
use crate::civil::WallSecond;

/// A recurrence rule with its anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {}

impl Recurrence {
    /// The first time of the rule at or after `from` and at or before `until`.
    pub(crate) fn next(&self, _from: WallSecond, _until: WallSecond) -> Option<WallSecond> {
        None
    }
}
