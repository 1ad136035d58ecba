//! Schedule specs: conversion between the API's form and the calendar's.
//!
//! A spec may mix several forms. One canonical form is stored and shown: structured calendars and intervals where they
//! can express it, cron strings for the rest.

use std::time::Duration;

use jiff::Timestamp;
use perennial_calendar::{
    Calendar, Definition, Dialect, Error, FieldRange, FieldTexts, Interval, ZoneSource,
};
use perennial_proto::temporal::schedule::v1::{
    CalendarSpec, IntervalSpec, Range, ScheduleSpec, StructuredCalendarSpec,
};

/// The most ranges in a field of a calendar: no field has more values than a year has days.
const RANGES_MAX: usize = 366;

/// The longest comment of a calendar; the same limit as for calendars in text form.
const COMMENT_BYTES_MAX: usize = 10_000;

/// Reads a spec. Time zones and named calendars are looked up only when it is compiled.
///
/// ```
/// use perennial_engine::schedule::spec;
/// use perennial_proto::temporal::schedule::v1::ScheduleSpec;
///
/// let cron_string = vec!["CRON_TZ=Europe/Oslo 0 9 * * MON".to_owned()];
/// let read = spec::read(&ScheduleSpec { cron_string, ..ScheduleSpec::default() })?;
/// let shown = spec::canonical(&read);
/// assert_eq!(shown.timezone_name, "Europe/Oslo");
/// assert_eq!(shown.structured_calendar[0].hour[0].start, 9);
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
pub fn read(spec: &ScheduleSpec) -> Result<Definition, Error> {
    let crons: Vec<&str> = spec.cron_string.iter().map(String::as_str).collect();
    let mut definition = Definition::read(&crons, Dialect::Temporal)?;

    let structured = spec.structured_calendar.iter().map(from_structured);
    let named = spec.calendar.iter().map(from_named);
    let typed = std::mem::take(&mut definition.calendars).into_iter().map(Ok);
    definition.calendars = structured.chain(named).chain(typed).collect::<Result<_, _>>()?;

    let given = spec.interval.iter().map(from_interval);
    let typed = std::mem::take(&mut definition.intervals).into_iter().map(Ok);
    definition.intervals = given.chain(typed).collect::<Result<_, _>>()?;

    let structured = spec.exclude_structured_calendar.iter().map(from_structured);
    let named = spec.exclude_calendar.iter().map(from_named);
    definition.exclusions = structured.chain(named).collect::<Result<_, _>>()?;

    definition.start = spec.start_time.as_ref().map(|at| instant("start_time", at)).transpose()?;
    definition.end = spec.end_time.as_ref().map(|at| instant("end_time", at)).transpose()?;
    definition.jitter =
        spec.jitter.as_ref().map_or(Ok(Duration::ZERO), |it| length("jitter", it))?;
    if !spec.timezone_name.is_empty() {
        definition.set_zone(&spec.timezone_name)?;
    }
    if !spec.timezone_data.is_empty() {
        let name = match definition.zone {
            ZoneSource::Name(name) => name,
            ZoneSource::Default | ZoneSource::Tzif { .. } => String::new(),
        };
        definition.zone = ZoneSource::Tzif { name, data: spec.timezone_data.clone() };
    }
    Ok(definition)
}

/// The canonical form: the same for all specs with the same meaning. Reading it gives that meaning back.
pub fn canonical(definition: &Definition) -> ScheduleSpec {
    let mut calendars: Vec<&Calendar> = definition.calendars.iter().collect();
    let mut intervals: Vec<&Interval> = definition.intervals.iter().collect();
    let mut texts: Vec<String> =
        calendars.extract_if(.., |it| !it.is_structured()).map(|it| it.to_string()).collect();
    texts.extend(definition.repeats.iter().map(ToString::to_string));
    texts.extend(definition.recurrences.iter().map(ToString::to_string));

    let settings = settings(definition);
    if !settings.is_empty() {
        // The settings are written before a text, so at least one part has to be a text.
        if texts.is_empty() {
            texts.extend(take_text(&mut calendars, &mut intervals));
        }
        if let Some(first) = texts.first_mut() {
            first.insert_str(0, &settings);
        }
    }
    let (structured, special): (Vec<&Calendar>, Vec<&Calendar>) =
        definition.exclusions.iter().partition(|it| it.is_structured());
    let (timezone_name, timezone_data) = match &definition.zone {
        ZoneSource::Default => (String::new(), Vec::new()),
        ZoneSource::Name(name) => (name.clone(), Vec::new()),
        ZoneSource::Tzif { name, data } => (name.clone(), data.clone()),
    };
    let jitter = definition.jitter;
    ScheduleSpec {
        structured_calendar: calendars.into_iter().map(structured_calendar).collect(),
        cron_string: texts,
        interval: intervals.into_iter().map(interval).collect(),
        exclude_structured_calendar: structured.into_iter().map(structured_calendar).collect(),
        exclude_calendar: special.into_iter().map(named_calendar).collect(),
        start_time: definition.start.map(timestamp),
        end_time: definition.end.map(timestamp),
        jitter: (!jitter.is_zero()).then(|| jitter.try_into().unwrap_or_default()),
        timezone_name,
        timezone_data,
        ..ScheduleSpec::default()
    }
}

/// Each part of a spec in text form.
pub fn texts(definition: &Definition) -> Vec<String> {
    let calendars = definition.calendars.iter().map(ToString::to_string);
    let intervals = definition.intervals.iter().map(ToString::to_string);
    let repeats = definition.repeats.iter().map(ToString::to_string);
    let recurrences = definition.recurrences.iter().map(ToString::to_string);
    calendars.chain(intervals).chain(repeats).chain(recurrences).collect()
}

/// Settings that the API has no field for, such as `DST=once EXCLUDE=holidays `.
fn settings(definition: &Definition) -> String {
    let dst = definition.dst.map(|policy| format!("DST={policy} "));
    let names = &definition.excluded_calendars;
    let exclude = (!names.is_empty()).then(|| format!("EXCLUDE={} ", names.join(",")));
    dst.into_iter().chain(exclude).collect()
}

/// Removes the last part that has a text form: when read again, texts come last.
fn take_text(calendars: &mut Vec<&Calendar>, intervals: &mut Vec<&Interval>) -> Option<String> {
    let can_be_said = |calendar: &&Calendar| {
        let Calendar { second, minute, hour, day_of_month, month, day_of_week, .. } = calendar;
        [second, minute, hour, day_of_month, month, day_of_week].iter().all(|it| !it.is_empty())
    };
    match calendars.iter().rposition(can_be_said) {
        Some(at) => Some(calendars.remove(at).to_string()),
        None => intervals.pop().map(ToString::to_string),
    }
}

fn from_structured(spec: &StructuredCalendarSpec) -> Result<Calendar, Error> {
    if spec.comment.len() > COMMENT_BYTES_MAX {
        let problem = format!("has more than {COMMENT_BYTES_MAX} bytes");
        return Err(invalid("the comment of a calendar", problem));
    }
    Ok(Calendar {
        second: from_ranges("second", &spec.second)?,
        minute: from_ranges("minute", &spec.minute)?,
        hour: from_ranges("hour", &spec.hour)?,
        day_of_month: from_ranges("day_of_month", &spec.day_of_month)?,
        month: from_ranges("month", &spec.month)?,
        day_of_week: from_ranges("day_of_week", &spec.day_of_week)?,
        year: from_ranges("year", &spec.year)?,
        comment: spec.comment.clone(),
        ..Calendar::default()
    })
}

/// Reads ranges. A range without an end is a single value; without a step, it has every value.
fn from_ranges(field: &str, ranges: &[Range]) -> Result<Vec<FieldRange>, Error> {
    if ranges.len() > RANGES_MAX {
        let problem = format!("has {} ranges; at most {RANGES_MAX} are read", ranges.len());
        return Err(invalid(field, problem));
    }
    let number = |value: i32| {
        u16::try_from(value).map_err(|_| invalid(field, format!("{value} is out of range")))
    };
    let range = |range: &Range| {
        let start = number(range.start)?;
        if range.end != 0 && range.end < range.start {
            let problem = format!("end {} is before start {}", range.end, range.start);
            return Err(invalid(field, problem));
        }
        if range.step < 0 {
            return Err(invalid(field, format!("step {} is negative", range.step)));
        }
        let end = number(range.end.max(range.start))?;
        let step = number(range.step.max(1))?;
        Ok(FieldRange { start, end, step })
    };
    ranges.iter().map(range).collect()
}

fn from_named(spec: &CalendarSpec) -> Result<Calendar, Error> {
    let CalendarSpec { second, minute, hour, day_of_month, month, year, day_of_week, comment } =
        spec.clone();
    FieldTexts { second, minute, hour, day_of_month, month, year, day_of_week, comment }.read()
}

/// Reads an interval in whole seconds; fractions are dropped.
fn from_interval(spec: &IntervalSpec) -> Result<Interval, Error> {
    let seconds = |field, given: &Option<perennial_proto::Duration>| {
        given.as_ref().map_or(Ok(0), |given| length(field, given).map(|length| length.as_secs()))
    };
    Ok(Interval {
        every: seconds("interval", &spec.interval)?,
        phase: seconds("phase", &spec.phase)?,
    })
}

fn structured_calendar(calendar: &Calendar) -> StructuredCalendarSpec {
    let ranges = |ranges: &[FieldRange]| {
        let range = |it: &FieldRange| Range {
            start: it.start.into(),
            end: it.end.into(),
            step: it.step.into(),
        };
        ranges.iter().map(range).collect()
    };
    StructuredCalendarSpec {
        second: ranges(&calendar.second),
        minute: ranges(&calendar.minute),
        hour: ranges(&calendar.hour),
        day_of_month: ranges(&calendar.day_of_month),
        month: ranges(&calendar.month),
        year: ranges(&calendar.year),
        day_of_week: ranges(&calendar.day_of_week),
        comment: calendar.comment.clone(),
    }
}

fn named_calendar(calendar: &Calendar) -> CalendarSpec {
    let FieldTexts { second, minute, hour, day_of_month, month, year, day_of_week, comment } =
        FieldTexts::of(calendar);
    CalendarSpec { second, minute, hour, day_of_month, month, year, day_of_week, comment }
}

fn interval(interval: &Interval) -> IntervalSpec {
    let seconds = |seconds| Duration::from_secs(seconds).try_into().unwrap_or_default();
    let phase = (interval.phase != 0).then(|| seconds(interval.phase));
    IntervalSpec { interval: Some(seconds(interval.every)), phase }
}

fn instant(field: &str, given: &perennial_proto::Timestamp) -> Result<Timestamp, Error> {
    Timestamp::new(given.seconds, given.nanos)
        .map_err(|_| invalid(field, "is no time between the years -9999 and 9999"))
}

fn timestamp(instant: Timestamp) -> perennial_proto::Timestamp {
    let (seconds, nanos) = (instant.as_second(), instant.subsec_nanosecond());
    perennial_proto::Timestamp { seconds, nanos }
}

fn length(field: &str, given: &perennial_proto::Duration) -> Result<Duration, Error> {
    Duration::try_from(*given).map_err(|_| invalid(field, "is negative"))
}

fn invalid(field: &str, problem: impl Into<String>) -> Error {
    Error::Invalid { field: field.to_owned(), problem: problem.into() }
}
