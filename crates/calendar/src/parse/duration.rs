//! Durations (`1h30m`, `PT30M`, `P1D`) and the intervals made of them (`5h/15m`).

use std::time::Duration;

use crate::definition::Interval;
use crate::error::{Fault, ParseError};

/// Reads a duration as people write them: `90s`, `1h30m`, `2d` (a day is 24 hours), or ISO 8601
/// (`PT1H30M`, `P2D`). Months and years have no fixed length and are refused.
///
/// ```
/// use std::time::Duration;
/// use perennial_calendar::parse_duration;
/// assert_eq!(parse_duration("1h30m")?, Duration::from_secs(5400));
/// assert_eq!(parse_duration("PT0.5S")?, Duration::from_millis(500));
/// assert!(parse_duration("P1M").is_err());
/// # Ok::<(), perennial_calendar::ParseError>(())
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, ParseError> {
    parse(text.trim()).map_err(|fault| fault.in_text(text))
}

/// Reads `every[/phase]`.
pub(super) fn parse_interval(text: &str) -> Result<Interval, Fault<'_>> {
    let text = text.trim();
    let (every, phase) = match text.split_once('/') {
        Some((every, phase)) => (every.trim(), Some(phase.trim())),
        None => (text, None),
    };
    let length = whole_seconds(every)?;
    if length == 0 {
        return Err(Fault::new(every, "an interval is at least 1 second"));
    }
    let offset = match phase {
        Some(phase) => whole_seconds(phase)?,
        None => 0,
    };
    if offset >= length {
        let at = phase.unwrap_or(every);
        return Err(Fault::new(
            at,
            format!("the phase {at} is not less than the interval {every}"),
        ));
    }
    Ok(Interval { every: length, phase: offset })
}

pub(crate) fn whole_seconds(text: &str) -> Result<u64, Fault<'_>> {
    let duration = parse(text)?;
    if duration.subsec_nanos() != 0 {
        return Err(Fault::new(text, format!("{text} is not a whole number of seconds")));
    }
    Ok(duration.as_secs())
}

fn parse(text: &str) -> Result<Duration, Fault<'_>> {
    const HELP: &str = "write it like 90s, 1h30m, 2d or PT30M";
    if text.is_empty() {
        return Err(Fault::new(text, "there is no duration").help(HELP));
    }
    let Ok(span) = text.parse::<jiff::Span>() else {
        if text.parse::<jiff::civil::Date>().is_ok() {
            return Err(Fault::new(text, format!("{text:?} is a date, not a duration"))
                .help("a single time is R1/2026-01-31T09:00/P1D"));
        }
        return Err(Fault::new(text, format!("{text:?} is not a duration")).help(HELP));
    };
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(Fault::new(text, format!("{text} has no fixed length"))
            .help("months and years repeat from a date, such as R/2026-01-31T09:00/P1M"));
    }
    let units: [(i128, i128); 8] = [
        (span.get_weeks().into(), 7 * 86_400_000_000_000),
        (span.get_days().into(), 86_400_000_000_000),
        (span.get_hours().into(), 3_600_000_000_000),
        (span.get_minutes().into(), 60_000_000_000),
        (span.get_seconds().into(), 1_000_000_000),
        (span.get_milliseconds().into(), 1_000_000),
        (span.get_microseconds().into(), 1_000),
        (span.get_nanoseconds().into(), 1),
    ];
    // Each unit is bounded by jiff to about 20,000 years: no overflow of 128 bits.
    let nanoseconds: i128 = units.iter().map(|(count, unit)| count * unit).sum();
    match u128::try_from(nanoseconds) {
        Ok(nanoseconds) => Ok(Duration::new(
            u64::try_from(nanoseconds / 1_000_000_000).unwrap_or(u64::MAX),
            (nanoseconds % 1_000_000_000) as u32,
        )),
        Err(_) => Err(Fault::new(text, format!("the duration {text} is negative"))),
    }
}
