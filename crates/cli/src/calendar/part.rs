//! Names of the parts of a spec.

use perennial_calendar::{Definition, PartRef};

/// Name of a part, counted from 1: `calendar 1`.
pub(super) fn name(part: PartRef) -> String {
    match part {
        PartRef::Calendar(n) => format!("calendar {}", n + 1),
        PartRef::Interval(n) => format!("interval {}", n + 1),
        PartRef::Repeat(n) => format!("repeat {}", n + 1),
        PartRef::Recurrence(n) => format!("recurrence {}", n + 1),
    }
}

/// The comment of the part; empty if it has none.
pub(super) fn comment(part: PartRef, definition: &Definition) -> &str {
    match part {
        PartRef::Calendar(n) => &definition.calendars[n].comment,
        PartRef::Interval(_) | PartRef::Repeat(_) | PartRef::Recurrence(_) => "",
    }
}

/// The number of parts. With a single part, the table needs no column for it.
pub(super) fn count(definition: &Definition) -> usize {
    definition.calendars.len()
        + definition.intervals.len()
        + definition.repeats.len()
        + definition.recurrences.len()
}
