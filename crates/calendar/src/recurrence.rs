//! iCalendar recurrence rules (RFC 5545, `DTSTART` and `RRULE`).
use crate::civil::WallSecond;

/// A recurrence rule with its anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {}

impl Recurrence {
    /// COUNT.
    pub fn count(&self) -> Option<u32> {
        None
    }
    /// UNTIL.
    pub fn until(&self) -> Option<Until> {
        None
    }
    pub(crate) fn compile(&self) -> CompiledRecurrence {
        CompiledRecurrence {}
    }
}
/// Until.
pub enum Until {
    /// w
    Wall(jiff::civil::DateTime),
    /// i
    Instant(jiff::Timestamp),
}
#[derive(Clone, Debug)]
pub(crate) struct CompiledRecurrence {}
impl CompiledRecurrence {
    /// The first time of the rule at or after `from` and at or before `until`.
    pub(crate) fn next(&self, _from: WallSecond, _until: WallSecond) -> Option<WallSecond> {
        None
    }
}
pub(crate) fn parse(_text: &str) -> Result<(Recurrence, Option<&str>), crate::error::Fault<'_>> {
    Ok((Recurrence {}, None))
}
