//! Warns about parts that are covered by another part, as far as that is easy to decide.

use crate::definition::Definition;
use crate::explain::fields::Fields;
use crate::explain::sentence;
use crate::explain::warning::Warning;
use crate::part::PartRef;
use crate::spec::Spec;

/// More parts than these are not compared.
const PARTS_MAX: usize = 100;

pub(super) fn of(spec: &Spec) -> Vec<Warning> {
    let definition = spec.definition();
    let parts: Vec<PartRef> = spec.parts.iter().map(|part| part.source).collect();
    if parts.len() < 2 || parts.len() > PARTS_MAX {
        return Vec::new();
    }
    let fields: Vec<Fields> = definition.calendars.iter().map(Fields::of).collect();
    let mut warnings = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let covers = |other_at: usize, other: PartRef| {
            // Of two equal parts, the first is the one that is kept.
            covers(definition, &fields, other, *part)
                && (other_at < at || !covers(definition, &fields, *part, other))
        };
        let covered_by =
            parts.iter().enumerate().find(|(n, other)| *n != at && covers(*n, **other));
        if let Some((_, other)) = covered_by {
            warnings.push(Warning::RedundantPart {
                part: *part,
                words: sentence::part(definition, *part),
                covered_by: sentence::part(definition, *other),
            });
        }
    }
    warnings
}

/// Whether every time of `part` is plainly one of `other`.
fn covers(definition: &Definition, fields: &[Fields], other: PartRef, part: PartRef) -> bool {
    match (other, part) {
        (PartRef::Calendar(other), PartRef::Calendar(part)) => fields[other].cover(&fields[part]),
        (PartRef::Interval(other), PartRef::Interval(part)) => {
            let (other, part) = (definition.intervals[other], definition.intervals[part]);
            part.every.is_multiple_of(other.every) && part.phase % other.every == other.phase
        }
        (PartRef::Repeat(other), PartRef::Repeat(part)) => {
            definition.repeats[other] == definition.repeats[part]
        }
        (PartRef::Recurrence(other), PartRef::Recurrence(part)) => {
            definition.recurrences[other] == definition.recurrences[part]
        }
        (
            PartRef::Calendar(_)
            | PartRef::Interval(_)
            | PartRef::Repeat(_)
            | PartRef::Recurrence(_),
            _,
        ) => false,
    }
}
