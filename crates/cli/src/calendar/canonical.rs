//! The canonical form of a spec, for people and for programs.

use jiff::fmt::friendly::{Spacing, SpanPrinter};
use perennial_calendar::{DstPolicy, Spec};
use serde::Serialize;

/// Format of intervals: `1m30s`.
const DURATION: SpanPrinter = SpanPrinter::new().spacing(Spacing::None);

/// The canonical form of a spec. Parsing the text of a part yields the same part. Field names are a
/// stable interface.
#[derive(Debug, Serialize)]
pub(super) struct Canonical {
    calendars: Vec<String>,
    intervals: Vec<String>,
    repeats: Vec<String>,
    recurrences: Vec<String>,
    exclusions: Vec<String>,
    excluded_calendars: Vec<String>,
    start: Option<String>,
    end: Option<String>,
    jitter: Option<String>,
    time_zone: String,
    /// `None` if unset: then parts have different defaults.
    dst: Option<String>,
}

impl Canonical {
    pub(super) fn of(spec: &Spec) -> Self {
        let definition = spec.definition();
        let jitter = jiff::SignedDuration::try_from(definition.jitter).unwrap_or_default();
        let wall_parts = definition.calendars.len() + definition.repeats.len();
        let dst = match definition.dst {
            Some(policy) => Some(policy),
            None if definition.recurrences.is_empty() => Some(DstPolicy::LITERAL),
            None if wall_parts == 0 => Some(DstPolicy::RECURRENCE),
            None => None,
        };
        Canonical {
            calendars: texts(&definition.calendars),
            intervals: texts(&definition.intervals),
            repeats: texts(&definition.repeats),
            recurrences: texts(&definition.recurrences),
            exclusions: texts(&definition.exclusions),
            excluded_calendars: definition.excluded_calendars.clone(),
            start: definition.start.map(|start| start.to_string()),
            end: definition.end.map(|end| end.to_string()),
            jitter: (!jitter.is_zero()).then(|| DURATION.duration_to_string(&jitter)),
            time_zone: spec.zone().name().to_owned(),
            dst: dst.map(|policy| policy.to_string()),
        }
    }

    /// Lines of label and value.
    pub(super) fn lines(&self) -> Vec<(String, &str)> {
        let lists = [
            ("calendar", &self.calendars),
            ("interval", &self.intervals),
            ("repeat", &self.repeats),
            ("recurrence", &self.recurrences),
            ("exclusion", &self.exclusions),
            ("excluded calendar", &self.excluded_calendars),
        ];
        let mut lines = Vec::new();
        for (name, items) in lists {
            let numbered = items.iter().enumerate();
            lines.extend(numbered.map(|(n, item)| (format!("{name} {}", n + 1), item.as_str())));
        }
        let settings = [
            ("start", self.start.as_deref()),
            ("end", self.end.as_deref()),
            ("jitter", self.jitter.as_deref()),
            ("time zone", Some(self.time_zone.as_str())),
            (
                "DST policy",
                Some(self.dst.as_deref().unwrap_or("literal; of recurrences skip,first")),
            ),
        ];
        let given =
            settings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        lines.extend(given);
        lines
    }
}

fn texts<T: std::fmt::Display>(parts: &[T]) -> Vec<String> {
    parts.iter().map(T::to_string).collect()
}
