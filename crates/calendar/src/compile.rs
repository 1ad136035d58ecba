//! Compiles a definition: checks, lookups and bit sets.

use jiff::Timestamp;

use crate::civil::{START_YEARS, WallSecond};
use crate::definition::{Calendar, Definition, Interval};
use crate::dst::DstPolicy;
use crate::error::Error;
use crate::matcher::CalendarMatcher;
use crate::named::NamedCalendars;
use crate::part::{Exclusion, ExclusionRef, Part, PartRef, Times};
use crate::recurrence::{Recurrence, Until};
use crate::repeat::{self, CivilPeriod, CivilRepeat, Period, Repeat};
use crate::search::WallPattern;
use crate::spec::floor_second;
use crate::zone::Zone;

/// Maximum number of parts, and of exclusions including named calendars.
const PARTS_MAX: usize = 1_000;

/// Maximum number of recurrence rules: finding the next time of a rare one may take most of a millisecond.
const RECURRENCES_MAX: usize = 50;

/// Maximum sum of all `COUNT`s: the times are counted when compiling.
const COUNT_MAX: u64 = 100_000;

/// The longest interval: no two times of a longer one fall within the years that timestamps have.
pub(crate) const INTERVAL_SECONDS_MAX: u64 = 400_000_000_000;

pub(crate) fn parts(definition: &Definition, zone: &Zone) -> Result<Vec<Part>, Error> {
    let count = definition.calendars.len()
        + definition.intervals.len()
        + definition.repeats.len()
        + definition.recurrences.len();
    check_count("parts", count, PARTS_MAX)?;
    check_count("recurrence rules", definition.recurrences.len(), RECURRENCES_MAX)?;
    let counts = definition.recurrences.iter().filter_map(Recurrence::count);
    let counted: u64 = counts.map(u64::from).sum();
    if counted > COUNT_MAX {
        let problem =
            format!("counts {counted} times of its rules; at most {COUNT_MAX} are counted");
        return Err(Error::Invalid { field: "the spec".to_owned(), problem });
    }
    let policy = definition.dst.unwrap_or(DstPolicy::LITERAL);
    let mut parts = Vec::with_capacity(count);
    for (n, calendar) in definition.calendars.iter().enumerate() {
        let pattern = WallPattern::Calendar(CalendarMatcher::compile(calendar)?);
        parts.push(Part::new(PartRef::Calendar(n), Times::Wall { pattern, policy }));
    }
    for (n, interval) in definition.intervals.iter().enumerate() {
        parts.push(Part::new(PartRef::Interval(n), interval_times(*interval)?));
    }
    for (n, repeat) in definition.repeats.iter().enumerate() {
        parts.push(repeat_part(n, repeat, zone, policy)?);
    }
    let policy = definition.dst.unwrap_or(DstPolicy::RECURRENCE);
    for (n, rule) in definition.recurrences.iter().enumerate() {
        parts.push(recurrence_part(n, rule, zone, policy));
    }
    Ok(parts)
}

fn interval_times(interval: Interval) -> Result<Times, Error> {
    let invalid = |problem: String| Error::Invalid { field: "interval".to_owned(), problem };
    if interval.every == 0 {
        return Err(invalid("of 0 seconds; the least is 1 second".to_owned()));
    }
    if interval.every > INTERVAL_SECONDS_MAX {
        return Err(invalid(format!("of {} seconds is longer than 12,000 years", interval.every)));
    }
    if interval.phase >= interval.every {
        return Err(invalid(format!(
            "phase of {} seconds is not less than its length of {} seconds",
            interval.phase, interval.every
        )));
    }
    Ok(Times::Interval { every: interval.every as i64, phase: interval.phase as i64 })
}

fn repeat_part(n: usize, repeat: &Repeat, zone: &Zone, policy: DstPolicy) -> Result<Part, Error> {
    let source = PartRef::Repeat(n);
    check_repeat(repeat)?;
    let civil = |every| {
        let pattern = WallPattern::Repeat(CivilRepeat::new(repeat.start, every, repeat.count));
        Ok(Part::new(source, Times::Wall { pattern, policy }))
    };
    match repeat.every {
        Period::Days(days) => civil(CivilPeriod::Days(days)),
        Period::Months(months) => civil(CivilPeriod::Months(months)),
        Period::Seconds(every) => {
            let anchor = zone.instant_of(WallSecond::from(repeat.start));
            let times = interval_times(Interval::anchored(every, anchor))?;
            let mut part = Part { first: anchor, ..Part::new(source, times) };
            if let Some(count) = repeat.count {
                let length = i64::from(count - 1).saturating_mul(every as i64);
                part.last = part.last.min(anchor.saturating_add(length));
            }
            Ok(part)
        }
    }
}

/// The same checks as when parsing a repeat.
fn check_repeat(repeat: &Repeat) -> Result<(), Error> {
    let problem = match (repeat.every, repeat.count, repeat.start.year()) {
        (Period::Days(0) | Period::Months(0) | Period::Seconds(0), ..) => "has no length",
        (Period::Days(days), ..) if days > repeat::DAYS_MAX => "is longer than the calendar",
        (Period::Months(months), ..) if months > repeat::MONTHS_MAX => {
            "is longer than the calendar"
        }
        (_, Some(0), _) => "is to happen 0 times; the least is once",
        (.., year) if !START_YEARS.contains(&year) => "starts outside 1970–2100",
        _ if repeat.start.subsec_nanosecond() != 0 => "starts within a second",
        _ => return Ok(()),
    };
    Err(Error::Invalid { field: "repeat".to_owned(), problem: problem.to_owned() })
}

fn recurrence_part(n: usize, rule: &Recurrence, zone: &Zone, policy: DstPolicy) -> Part {
    let pattern = WallPattern::Recurrence(Box::new(rule.compile()));
    let mut part = Part::new(PartRef::Recurrence(n), Times::Wall { pattern, policy });
    if let Some(Until::Instant(until)) = rule.until() {
        part.last = part.last.min(floor_second(until));
    }
    if let Some(count) = rule.count() {
        part.last = part.last.min(nth_time(&part, zone, count));
    }
    part
}

/// The `count`-th time of a part; its last one if it has fewer.
fn nth_time(part: &Part, zone: &Zone, count: u32) -> i64 {
    let mut last = i64::MIN;
    let mut from = Timestamp::MIN.as_second();
    for _ in 0..count {
        let Some(found) = part.next(zone, from, Timestamp::MAX.as_second()) else { break };
        last = found;
        from = found + 1;
    }
    last
}

pub(crate) fn exclusions(
    definition: &Definition,
    named: &NamedCalendars,
) -> Result<Vec<Exclusion>, Error> {
    let mut sources: Vec<(ExclusionRef, &Calendar)> = Vec::new();
    for (n, calendar) in definition.exclusions.iter().enumerate() {
        sources.push((ExclusionRef::Calendar(n), calendar));
    }
    for (n, name) in definition.excluded_calendars.iter().enumerate() {
        sources.extend(named.get(name)?.iter().map(|calendar| (ExclusionRef::Named(n), calendar)));
    }
    check_count("exclusions", sources.len(), PARTS_MAX)?;
    let compiled = sources.into_iter().map(|(source, calendar)| {
        let named_text = match source {
            ExclusionRef::Calendar(_) => String::new(),
            ExclusionRef::Named(_) => calendar.to_string(),
        };
        Ok(Exclusion { source, calendar: CalendarMatcher::compile(calendar)?, named_text })
    });
    compiled.collect()
}

fn check_count(what: &str, count: usize, max: usize) -> Result<(), Error> {
    if count <= max {
        return Ok(());
    }
    let problem = format!("has {count} {what}; at most {max} are allowed");
    Err(Error::Invalid { field: "the spec".to_owned(), problem })
}
