//! Warns if there is no time, if the next one is far away, or if the spec runs out.

use jiff::{SignedDuration, Timestamp};

use super::HORIZON;
use crate::dst::OnGap;
use crate::explain::fields::Fields;
use crate::explain::warning::Warning;
use crate::part::PartRef;
use crate::spec::{GaveUp, Search, Spec};

const YEAR: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Specs with exclusions and more parts than these, exclusions included, are not looked back on.
const LOOK_BACK_PARTS_MAX: usize = 20;
const LOOK_BACK_RULES_MAX: usize = 3;

/// How often a search that exclusions brought to its bound is taken up again.
const SEARCHES_MAX: u32 = 4;

/// The warnings, and whether a next time was found.
pub(super) fn of(spec: &Spec, now: Timestamp) -> (Vec<Warning>, bool) {
    let definition = spec.definition();
    let (first, last) = spec.bounds();
    if first > last {
        return (vec![Warning::EndsBeforeStart], false);
    }
    // A start that lies ahead is no surprise; what comes long after it is.
    let begins = definition.start.map_or(now, |start| start.max(now));
    let mut after = now;
    for _ in 0..SEARCHES_MAX {
        match spec.search(after) {
            Search::Found(next) => {
                let mut warnings = Vec::new();
                if next.nominal.duration_since(begins) > YEAR {
                    warnings.push(Warning::FarAway { next: spec.zone().at(next.nominal) });
                }
                warnings.extend(runs_out(spec, next.nominal, now));
                return (warnings, true);
            }
            Search::Never => return (vec![none_left(spec, now)], false),
            Search::NoneUpTo(_) if all_covered(spec) => {
                return (vec![Warning::AllExcluded], false);
            }
            Search::NoneUpTo(searched) => after = searched,
        }
    }
    (vec![Warning::NothingBefore { searched_until: spec.zone().at(after) }], false)
}

fn none_left(spec: &Spec, now: Timestamp) -> Warning {
    if !can_look_back(spec) {
        return Warning::NoTimeLeft { last: None };
    }
    let just_after = now.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
    match spec.search_back(just_after) {
        Ok(Some(last)) => Warning::NoTimeLeft { last: Some(spec.zone().at(last.nominal)) },
        Ok(None) if has_times_to_exclude(spec) => Warning::AllExcluded,
        Ok(None) => Warning::NeverFires,
        Err(GaveUp) => Warning::NoTimeLeft { last: None },
    }
}

/// Looking back takes dozens of searches, each of which may be long if there are many exclusions or
/// recurrence rules.
fn can_look_back(spec: &Spec) -> bool {
    spec.definition().recurrences.len() <= LOOK_BACK_RULES_MAX
        && (spec.exclusions.is_empty()
            || spec.parts.len() + spec.exclusions.len() <= LOOK_BACK_PARTS_MAX)
}

fn has_times_to_exclude(spec: &Spec) -> bool {
    let (first, last) = spec.bounds();
    spec.parts.iter().any(|part| part.next_by(spec.zone(), first, last, None).is_some())
}

/// Whether the fields alone show that every time is excluded.
fn all_covered(spec: &Spec) -> bool {
    let definition = spec.definition();
    // A time that is moved to another hour may escape.
    let moves_times = definition.dst.is_some_and(|policy| policy.gap == OnGap::Shift);
    let exclusions: Vec<Fields> = definition.exclusions.iter().map(Fields::of).collect();
    let is_covered = |part: PartRef| match part {
        PartRef::Calendar(n) => {
            let fields = Fields::of(&definition.calendars[n]);
            exclusions.iter().any(|exclusion| exclusion.cover(&fields))
        }
        PartRef::Interval(_) | PartRef::Repeat(_) | PartRef::Recurrence(_) => false,
    };
    !moves_times && spec.parts.iter().all(|part| is_covered(part.source))
}

/// Only for specs that end by themselves: an end that was asked for is no news, and neither is that
/// of a spec with a single time.
fn runs_out(spec: &Spec, next: Timestamp, now: Timestamp) -> Option<Warning> {
    let definition = spec.definition();
    let ends = |part: PartRef| match part {
        PartRef::Calendar(n) => !Fields::of(&definition.calendars[n]).years.is_full(),
        PartRef::Interval(_) => false,
        PartRef::Repeat(n) => definition.repeats[n].count.is_some(),
        PartRef::Recurrence(n) => definition.recurrences[n].count().is_some(),
    };
    let ends = spec.parts.iter().all(|part| ends(part.source));
    if definition.end.is_some() || !ends || !can_look_back(spec) {
        return None;
    }
    let last = spec.previous(Timestamp::MAX)?.nominal;
    let is_single = last == next && spec.previous(next).is_none();
    (!is_single && last.duration_since(now) < HORIZON)
        .then(|| Warning::RunsOut { last: spec.zone().at(last) })
}
