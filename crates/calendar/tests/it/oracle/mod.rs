//! An independent, slow definition of which times a spec has. It shares no code with the crate
//! beyond the definition's types: it walks civil time and asks jiff what each reading means.

pub(crate) mod generate;

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use perennial_calendar::{
    Calendar, Definition, Dialect, DstPolicy, FieldRange, NamedCalendars, OnGap, OnRepeat, Period,
    Repeat, Spec, SpecialDay, SpecialWeekday, Zones,
};

pub(crate) fn zones() -> Zones {
    Zones::new(TimeZoneDatabase::bundled())
}

pub(crate) fn time_zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

pub(crate) fn compile(definition: Definition) -> Spec {
    Spec::compile(definition, &zones(), &NamedCalendars::default()).unwrap()
}

pub(crate) fn spec(text: &str) -> Spec {
    compile(Definition::read(&[text], Dialect::Temporal).unwrap())
}

pub(crate) fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn nominals(spec: &Spec, from: &str, count: usize) -> Vec<String> {
    spec.after(instant(from)).take(count).map(|o| o.nominal.to_string()).collect()
}

fn has(ranges: &[FieldRange], value: u16) -> bool {
    ranges
        .iter()
        .any(|r| (r.start..=r.end).contains(&value) && (value - r.start).is_multiple_of(r.step))
}

pub(crate) fn date_matches(calendar: &Calendar, date: Date) -> bool {
    let year = date.year() as u16;
    if !(2000..=2100).contains(&date.year())
        || !calendar.year.is_empty() && !has(&calendar.year, year)
    {
        return false;
    }
    if !has(&calendar.month, date.month() as u16) {
        return false;
    }
    let day_of_month = has(&calendar.day_of_month, date.day() as u16)
        || calendar.special_days.iter().any(|special| special_day(*special, date));
    let weekday = date.weekday().to_sunday_zero_offset() as u8;
    let day_of_week = has(&calendar.day_of_week, weekday.into())
        || calendar.special_weekdays.iter().any(|special| match *special {
            SpecialWeekday::Nth { weekday: w, nth } => {
                w == weekday && (date.day() as u8).div_ceil(7) == nth
            }
            SpecialWeekday::Last { weekday: w } => {
                w == weekday && date.day() + 7 > date.days_in_month()
            }
        });
    day_of_month && day_of_week
}

fn is_working_day(date: Date) -> bool {
    !matches!(date.weekday(), jiff::civil::Weekday::Saturday | jiff::civil::Weekday::Sunday)
}

/// By trying: the working day of the month with the least distance, the one on the weekend's other
/// side if the month ends in between.
fn special_day(special: SpecialDay, date: Date) -> bool {
    let target = match special {
        SpecialDay::BeforeLast(before) => {
            return date.days_in_month() - date.day() == before as i8;
        }
        SpecialDay::LastWeekday => date.days_in_month(),
        SpecialDay::NearestWeekday(day) => day as i8,
    };
    if target > date.days_in_month() {
        return false;
    }
    let nearest = (1..=date.days_in_month())
        .filter(|day| is_working_day(Date::new(date.year(), date.month(), *day).unwrap()))
        .min_by_key(|day| (day - target).abs())
        .unwrap();
    date.day() == nearest
}

pub(crate) fn time_matches(calendar: &Calendar, time: DateTime) -> bool {
    has(&calendar.hour, time.hour() as u16)
        && has(&calendar.minute, time.minute() as u16)
        && has(&calendar.second, time.second() as u16)
}

fn repeat_readings(repeat: &Repeat, from: DateTime, to: DateTime) -> Vec<DateTime> {
    let step = |n: i64| match repeat.every {
        Period::Days(days) => repeat.start.checked_add(jiff::Span::new().days(n * i64::from(days))),
        Period::Months(months) => {
            repeat.start.checked_add(jiff::Span::new().months(n * i64::from(months)))
        }
        Period::Seconds(_) => unreachable!("the oracle is asked for civil repeats only"),
    };
    let most = repeat.count.map_or(i64::MAX, i64::from);
    let times = (0..most).map(step).map_while(Result::ok).take_while(|t| *t <= to);
    times.filter(|t| *t >= from && t.year() <= 2100).collect()
}

pub(crate) fn is_excluded(definition: &Definition, zone: &TimeZone, instant: Timestamp) -> bool {
    let time = zone.to_datetime(instant);
    definition
        .exclusions
        .iter()
        .any(|calendar| date_matches(calendar, time.date()) && time_matches(calendar, time))
}

/// The times in `from..=to` of a definition without recurrences, walking `step` seconds at a time:
/// 60 if every calendar is at second 0 and every interval in whole minutes.
pub(crate) fn times(
    definition: &Definition,
    zone: &TimeZone,
    from: Timestamp,
    to: Timestamp,
    step: i64,
) -> BTreeSet<Timestamp> {
    let policy = definition.dst.unwrap_or(DstPolicy::LITERAL);
    let mut found = BTreeSet::new();
    let day_and_more = SignedDuration::from_hours(26);
    let mut reading = TimeZone::UTC.to_datetime(from - day_and_more);
    reading -= SignedDuration::from_secs(i64::from(reading.second()));
    let last = TimeZone::UTC.to_datetime(to + day_and_more);
    while reading <= last {
        let matches =
            |calendar| date_matches(calendar, reading.date()) && time_matches(calendar, reading);
        if definition.calendars.iter().any(matches) {
            found.extend(instants_of(reading, zone, policy));
        }
        reading += SignedDuration::from_secs(step);
    }
    let first = TimeZone::UTC.to_datetime(from - day_and_more);
    for reading in definition.repeats.iter().flat_map(|r| repeat_readings(r, first, last)) {
        found.extend(instants_of(reading, zone, policy));
    }
    for interval in &definition.intervals {
        let mut second = from.as_second().div_euclid(step) * step;
        while second <= to.as_second() {
            if (second - interval.phase as i64).rem_euclid(interval.every as i64) == 0 {
                found.insert(Timestamp::from_second(second).unwrap());
            }
            second += step;
        }
    }
    found.retain(|t| {
        (from..=to).contains(t)
            && *t < instant("2101-01-01T00:00:00Z")
            && definition.start.is_none_or(|start| *t >= start)
            && definition.end.is_none_or(|end| *t <= end)
            && !is_excluded(definition, zone, *t)
    });
    found
}

fn instants_of(reading: DateTime, zone: &TimeZone, policy: DstPolicy) -> Vec<Timestamp> {
    let with = |offset: jiff::tz::Offset| offset.to_timestamp(reading).unwrap();
    match zone.to_ambiguous_timestamp(reading).offset() {
        AmbiguousOffset::Unambiguous { offset } => vec![with(offset)],
        AmbiguousOffset::Gap { before, .. } => match policy.gap {
            OnGap::Skip => vec![],
            OnGap::Shift => vec![with(before)],
        },
        AmbiguousOffset::Fold { before, after } => match policy.repeat {
            OnRepeat::First => vec![with(before)],
            OnRepeat::Last => vec![with(after)],
            OnRepeat::Both => vec![with(before), with(after)],
        },
    }
}

/// The first time of one calendar in UTC at or after a reading, day by day to the end of 2100.
pub(crate) fn next_reading(calendar: &Calendar, from: DateTime) -> Option<DateTime> {
    let mut date = from.date();
    let mut from_hour = Some(from);
    while date.year() <= 2100 {
        if date_matches(calendar, date) {
            let earliest = from_hour.map_or(date.at(0, 0, 0, 0), |from| from);
            let mut hours = (0..24).filter(|h| has(&calendar.hour, *h as u16));
            let found = hours.find_map(|hour| {
                let mut minutes = (0..60).filter(|m| has(&calendar.minute, *m as u16));
                minutes.find_map(|minute| {
                    let seconds = (0..60).filter(|s| has(&calendar.second, *s as u16));
                    seconds.map(|s| date.at(hour, minute, s, 0)).find(|t| *t >= earliest)
                })
            });
            if found.is_some() {
                return found;
            }
        }
        from_hour = None;
        date = date.tomorrow().unwrap();
    }
    None
}
