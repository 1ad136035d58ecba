//! A time in the output: one that fires, or one that is left out.

use jiff::Timestamp;
use jiff::civil::DateTime;
use perennial_calendar::{Occurrence, PartRef, Spec, Traced};
use serde::{Serialize, Serializer};

use super::part;

/// A time of a spec, or a time that was left out.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) nominal: Timestamp,
    pub(super) part: PartRef,
    pub(super) fate: Fate,
}

/// Whether a time fires, or why not.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Fires {
        due: Timestamp,
    },
    LeftOut {
        /// The local time. For a time in a gap, the local time that was skipped.
        civil: DateTime,
        why: String,
    },
}

impl Event {
    pub(super) fn new(traced: Traced, spec: &Spec) -> Self {
        match traced {
            Traced::Fires(time) => Event::from(time),
            Traced::LeftOut(time) => Event {
                nominal: time.nominal,
                part: time.part,
                fate: Fate::LeftOut { civil: time.civil, why: spec.why(&time) },
            },
        }
    }
}

impl From<Occurrence> for Event {
    fn from(time: Occurrence) -> Self {
        Event { nominal: time.nominal, part: time.part, fate: Fate::Fires { due: time.due } }
    }
}

/// JSON output of an event. Field names are a stable interface.
#[derive(Serialize)]
pub(super) struct Record<'s> {
    #[serde(serialize_with = "as_text")]
    nominal: Timestamp,
    local: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_optional_text")]
    due: Option<Timestamp>,
    part: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    comment: &'s str,
    /// Local time without an offset, for a time that was left out: a time in a gap has no `local`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_optional_text")]
    civil: Option<DateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<&'s str>,
}

impl<'s> Record<'s> {
    pub(super) fn new(event: &'s Event, spec: &'s Spec) -> Self {
        let (due, civil, left_out) = match &event.fate {
            Fate::Fires { due } => (Some(*due), None, None),
            Fate::LeftOut { civil, why } => (None, Some(*civil), Some(why.as_str())),
        };
        Record {
            nominal: event.nominal,
            local: spec.zone().at(event.nominal).to_string(),
            due,
            part: part::name(event.part),
            comment: part::comment(event.part, spec.definition()),
            civil,
            left_out,
        }
    }
}

fn as_text<S: Serializer>(value: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

fn as_optional_text<S: Serializer>(
    value: &Option<impl ToString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => as_text(value, serializer),
        None => serializer.serialize_none(),
    }
}
