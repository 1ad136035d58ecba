//! Warnings about the fields themselves, independent of the current time.

use crate::civil::WallSecond;
use crate::definition::{Calendar, FieldRange, SpecialDay};
use crate::explain::fields::Fields;
use crate::explain::recurrence;
use crate::explain::warning::Warning;
use crate::recurrence::Recurrence;
use crate::repeat::Period;
use crate::spec::Spec;

/// More days of the month than these are not about any one of them.
const DAYS_MEANT_MAX: u32 = 4;

/// Shorter periods are not about the time of day.
const DRIFTING_SECONDS_MIN: u64 = 60;

pub(super) fn of(spec: &Spec) -> Vec<Warning> {
    let definition = spec.definition();
    let mut warnings = Vec::new();
    for calendar in &definition.calendars {
        let fields = Fields::of(calendar);
        warnings.extend(short_months(&fields));
        if fields.restrict_days_of_month() && fields.restrict_weekdays() {
            warnings.push(Warning::BothDayFields);
        }
        warnings.extend(uneven_steps(calendar, &fields));
    }
    for rule in &definition.recurrences {
        warnings.extend(short_months_of_rule(rule));
        warnings.extend(start_that_is_no_time(rule));
    }
    let exact = definition.repeats.iter().filter_map(|repeat| match repeat.every {
        Period::Seconds(every) if repeat.count != Some(1) => Some(every),
        Period::Seconds(_) | Period::Days(_) | Period::Months(_) => None,
    });
    let exact = definition.intervals.iter().map(|interval| interval.every).chain(exact);
    warnings.extend(exact.filter(|every| drifts(*every)).map(|every| Warning::Drifts { every }));
    without_repetitions(warnings)
}

fn short_months(fields: &Fields) -> Option<Warning> {
    let day = fields.days.values().last()?;
    let has_last_day = fields.special_days.contains(&SpecialDay::BeforeLast(0));
    // "From the 25th on" is as long as the month is.
    let is_range = fields.days.contains(28) && fields.days.contains(day - 1);
    if day < 29 || has_last_day || is_range || fields.days.len() > DAYS_MEANT_MAX {
        return None;
    }
    let months: Vec<u16> = fields.months.values().collect();
    short_months_of(day as u8, &months, "L")
}

fn short_months_of_rule(rule: &Recurrence) -> Option<Warning> {
    let days = recurrence::days_of_month(rule);
    let day = days.iter().copied().max()?.unsigned_abs();
    let from_end = days.iter().any(|day| *day < 0);
    let is_range = days.contains(&28);
    if day < 29 || from_end || is_range || days.len() > DAYS_MEANT_MAX as usize {
        return None;
    }
    let months: Vec<u16> = recurrence::months(rule).values().collect();
    short_months_of(day, &months, "BYMONTHDAY=-1")
}

fn start_that_is_no_time(rule: &Recurrence) -> Option<Warning> {
    let start = rule.dtstart()?;
    let wall = WallSecond::from(start);
    let fires = rule.compile().next(wall, wall) == Some(wall);
    (!fires).then_some(Warning::StartIsNoTime { start })
}

/// The warning about a day in these months, unless all of them have it or none ever does.
fn short_months_of(day: u8, months: &[u16], last_day_is: &'static str) -> Option<Warning> {
    let length = |month: u16| match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let months_with = months.iter().filter(|month| length(**month) >= day).count() as u32;
    let months_without = months.len() as u32 - months_with;
    (months_with > 0 && months_without > 0).then_some(Warning::ShortMonths {
        day,
        months_with,
        months_without,
        last_day_is,
    })
}

/// Steps that were meant to go on evenly but start again with each hour, day, week, month or year.
fn uneven_steps(calendar: &Calendar, fields: &Fields) -> Vec<Warning> {
    let follows_next_day = fields.days.has_neighbours() && fields.weekdays.has_neighbours();
    let candidates = [
        ("second", &calendar.second, (0, 59), Some(60), fields.minutes.has_neighbours()),
        ("minute", &calendar.minute, (0, 59), Some(60), fields.hours.has_neighbours()),
        ("hour", &calendar.hour, (0, 23), Some(24), follows_next_day),
        ("day", &calendar.day_of_month, (1, 31), None, fields.months.has_neighbours()),
        ("month", &calendar.month, (1, 12), Some(12), fields.years.has_neighbours()),
    ];
    let mut warnings = Vec::new();
    for (field, ranges, (min, max), period, follows) in candidates {
        let [FieldRange { start, end, step }] = ranges[..] else { continue };
        let last = start + (end - start) / step * step;
        // A range that stops early or begins late was not meant to go round.
        let goes_round = step > 1 && last > start && last + step > max && start < min + step;
        let distance = period.map(|period: u16| period - last + start);
        if goes_round && follows && distance != Some(step) {
            warnings.push(Warning::UnevenStep {
                field,
                step: step.into(),
                last: last.into(),
                first: start.into(),
                distance: distance.map(u32::from),
            });
        }
    }
    warnings
}

fn drifts(every: u64) -> bool {
    const DAY: u64 = 86_400;
    every >= DRIFTING_SECONDS_MIN && !every.is_multiple_of(DAY) && !DAY.is_multiple_of(every)
}

fn without_repetitions(warnings: Vec<Warning>) -> Vec<Warning> {
    let mut kept: Vec<Warning> = Vec::new();
    for warning in warnings {
        if !kept.contains(&warning) {
            kept.push(warning);
        }
    }
    kept
}
