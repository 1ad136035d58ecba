//! Warns about exclusions that match no time.

use super::{Budget, Window};
use crate::civil::WallSecond;
use crate::definition::Calendar;
use crate::explain::calendar;
use crate::explain::fields::Fields;
use crate::explain::warning::Warning;
use crate::matcher::CalendarMatcher;
use crate::part::ExclusionRef;
use crate::spec::Spec;

/// Each calendar of the spec's own. The calendars behind a name are for many specs, so that some of
/// them match none of this one's times is as it should be.
pub(super) fn of(spec: &Spec, window: Window, budget: &mut Budget) -> Vec<Warning> {
    let definition = spec.definition();
    let idle = spec.exclusions.iter().filter_map(|exclusion| {
        let ExclusionRef::Calendar(n) = exclusion.source else { return None };
        let written = &definition.exclusions[n];
        if is_for_given_days(written) || !is_idle(spec, &exclusion.calendar, window, budget)? {
            return None;
        }
        Some(Warning::IdleExclusion {
            exclusion: exclusion.source,
            words: calendar::exclusion_phrase(written),
            is_partial_day: !Fields::of(written).are_all_day(),
        })
    });
    idle.collect()
}

/// A list of holidays, say: that some fall on days without times is no mistake.
fn is_for_given_days(calendar: &Calendar) -> bool {
    let fields = Fields::of(calendar);
    fields.are_all_day() && !fields.years.is_full()
}

/// Whether the exclusion has times in the window, but none in common with the spec's parts. Goes
/// from a time of the one to the next of the other; `None` if the budget runs out.
fn is_idle(
    spec: &Spec,
    exclusion: &CalendarMatcher,
    window: Window,
    budget: &mut Budget,
) -> Option<bool> {
    let zone = spec.zone();
    let mut from = window.from;
    let mut has_times = false;
    while from <= window.to {
        let Some(time) = next_of_parts(spec, from, window.to, budget)? else { break };
        let segment = &zone.segments()[zone.segment_at(time)];
        let shown = WallSecond(time + segment.offset);
        let (day, second_of_day) = shown.split();
        if exclusion.matches(day, day.date(), second_of_day) {
            return Some(false);
        }
        budget.step()?;
        // Within a segment the clock runs evenly. Beyond it, it may show earlier times again.
        let end = WallSecond(window.to + segment.offset);
        let Some(excluded) = exclusion.next(shown, end) else {
            from = segment.end;
            continue;
        };
        has_times = true;
        from = (excluded.0 - segment.offset).min(segment.end).max(time + 1);
    }
    // An exclusion in the past or the far future is fine; one that never matches deserves the warning.
    let ever = exclusion.next(WallSecond(0), WallSecond(i64::from(u32::MAX)));
    Some(has_times || ever.is_none())
}

/// The first time of any part, whether excluded or not; the outer `None` if the budget runs out.
fn next_of_parts(spec: &Spec, from: i64, to: i64, budget: &mut Budget) -> Option<Option<i64>> {
    let mut earliest = None;
    for part in &spec.parts {
        budget.step()?;
        let last = earliest.map_or(to, |found: i64| found - 1);
        earliest = part.next_by(spec.zone(), from, last, None).or(earliest);
    }
    Some(earliest)
}
