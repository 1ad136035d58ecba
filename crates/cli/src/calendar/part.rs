//! What the parts of a spec are called.

use perennial_calendar::{Definition, PartRef};

/// The part as users count: from 1.
pub(super) fn name(part: PartRef) -> String {
    match part {
        PartRef::Calendar(n) => format!("calendar {}", n + 1),
        PartRef::Interval(n) => format!("interval {}", n + 1),
        PartRef::Repeat(n) => format!("repeat {}", n + 1),
        PartRef::Recurrence(n) => format!("recurrence {}", n + 1),
    }
}

/// The comment that came with the part; empty if none did.
pub(super) fn comment(part: PartRef, definition: &Definition) -> &str {
    match part {
        PartRef::Calendar(n) => &definition.calendars[n].comment,
        PartRef::Interval(_) | PartRef::Repeat(_) | PartRef::Recurrence(_) => "",
    }
}

/// How many parts there are: with one, nobody needs to be told which it was.
pub(super) fn count(definition: &Definition) -> usize {
    definition.calendars.len()
        + definition.intervals.len()
        + definition.repeats.len()
        + definition.recurrences.len()
}
