//! The whole sentence: parts, exclusions, bounds, time zone.

use std::time::Duration;

use super::{calendar, period, recurrence, wording};
use crate::definition::{Definition, ZoneSource};
use crate::dst::{DstPolicy, OnGap, OnRepeat};
use crate::part::{Exclusion, ExclusionRef, PartRef};
use crate::repeat::Period;
use crate::spec::Spec;

/// Each clause begins with unique words and is complete. So the sentence determines the definition, except
/// for differences that don't affect its times.
pub(super) fn of(spec: &Spec) -> String {
    let definition = spec.definition();
    let parts: Vec<String> = spec.parts.iter().map(|p| part(definition, p.source)).collect();
    if parts.is_empty() {
        return "Never: nothing is scheduled.".to_owned();
    }
    // A semicolon shows that the following clauses apply to the whole union.
    let separator = if parts.len() > 1 { "; " } else { ", " };
    let mut clauses = vec![parts.join("; and ")];
    clauses.extend(exclusions(spec));
    clauses.extend(bounds(definition));
    clauses.extend(zone(spec));
    clauses.extend(jitter(definition.jitter));
    let mut sentence = wording::capitalised(&clauses.join(separator));
    if let Some(policy) = dst_policy(spec) {
        sentence.push_str("; ");
        sentence.push_str(&policy);
    }
    sentence.push('.');
    sentence
}

/// One part in words, without its time zone.
pub(super) fn part(definition: &Definition, part: PartRef) -> String {
    match part {
        PartRef::Calendar(n) => calendar::phrase(&definition.calendars[n]),
        PartRef::Interval(n) => period::interval(definition.intervals[n]),
        PartRef::Repeat(n) => period::repeat(&definition.repeats[n]),
        PartRef::Recurrence(n) => recurrence::phrase(&definition.recurrences[n]),
    }
}

fn exclusions(spec: &Spec) -> Option<String> {
    let definition = spec.definition();
    let calendars = definition.exclusions.iter().map(calendar::exclusion_phrase);
    let named = (0..definition.excluded_calendars.len()).map(|n| named_calendar(spec, n));
    let all: Vec<String> = calendars.chain(named).map(|what| format!("except {what}")).collect();
    (!all.is_empty()).then(|| all.join(", and "))
}

/// The name of a calendar, with a fingerprint: its content may change under the same name.
fn named_calendar(spec: &Spec, named: usize) -> String {
    let name = &spec.definition().excluded_calendars[named];
    let of_that_name = |x: &&Exclusion| x.source == ExclusionRef::Named(named);
    let texts: Vec<&str> =
        spec.exclusions.iter().filter(of_that_name).map(|x| x.named_text.as_str()).collect();
    let entries = match texts.len() {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    let fingerprint = wording::fingerprint(texts.join("\n").as_bytes());
    format!("the calendar {name:?} ({entries}, fingerprint {fingerprint})")
}

fn bounds(definition: &Definition) -> Option<String> {
    match (definition.start, definition.end) {
        (None, None) => None,
        (Some(start), None) => Some(format!("from {start} on (inclusive)")),
        (None, Some(end)) => Some(format!("until {end} (inclusive)")),
        (Some(start), Some(end)) => Some(format!("from {start} until {end} (both inclusive)")),
    }
}

/// The time zone; `None` if no part depends on it.
fn zone(spec: &Spec) -> Option<String> {
    let definition = spec.definition();
    let only_intervals = definition.calendars.is_empty()
        && definition.repeats.is_empty()
        && definition.recurrences.is_empty();
    if only_intervals && spec.exclusions.is_empty() {
        return None;
    }
    Some(match &definition.zone {
        ZoneSource::Default | ZoneSource::Name(_) => match spec.zone().name() {
            "UTC" => "UTC".to_owned(),
            name => format!("{name} time"),
        },
        ZoneSource::Tzif { name, data } => format!(
            "on the clock of the time zone file {name:?} (fingerprint {})",
            wording::fingerprint(data)
        ),
    })
}

/// The DST policy in words; `None` if it is the default or has no effect.
fn dst_policy(spec: &Spec) -> Option<String> {
    let definition = spec.definition();
    let policy = definition.dst?;
    let is_civil = |every| matches!(every, Period::Days(_) | Period::Months(_));
    let literal_by_default =
        !definition.calendars.is_empty() || definition.repeats.iter().any(|r| is_civil(r.every));
    let clock_changes = spec.zone().segments().len() > 1;
    let goes_without_saying = (!literal_by_default || policy == DstPolicy::LITERAL)
        && (definition.recurrences.is_empty() || policy == DstPolicy::RECURRENCE);
    if !clock_changes || goes_without_saying {
        return None;
    }
    let gap = match policy.gap {
        OnGap::Skip => "is skipped",
        OnGap::Shift => "fires later by the length of the jump",
    };
    let repeat = match policy.repeat {
        OnRepeat::First => "only the first time",
        OnRepeat::Last => "only the second time",
        OnRepeat::Both => "both times",
    };
    Some(format!("a time the clock jumps over {gap}, one it shows twice fires {repeat}"))
}

fn jitter(jitter: Duration) -> Option<String> {
    if jitter.is_zero() {
        return None;
    }
    let length = match jitter.subsec_nanos() {
        0 => wording::duration(jitter.as_secs()),
        _ => format!("{} seconds", jitter.as_secs_f64()),
    };
    Some(format!("each put off by up to {length}"))
}
