//! One line of an answer: a time that fires, or one that was left out.

use jiff::Timestamp;
use jiff::civil::DateTime;
use perennial_calendar::{Occurrence, PartRef, Spec, Traced};
use serde::{Serialize, Serializer};

use super::part;

/// A time of a spec, or one that it might have had.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) nominal: Timestamp,
    pub(super) part: PartRef,
    pub(super) fate: Fate,
}

/// What becomes of a time.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Fires {
        due: Timestamp,
    },
    LeftOut {
        /// What the clock shows then, or would show if it did not jump over it.
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

/// An event as programs read it. The names are part of the product.
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
    /// For a time left out, what the clock shows: of one in a gap there is no `local`.
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
