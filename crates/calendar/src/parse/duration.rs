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
        if let Some(duration) = parse_as_go(text) {
            return Ok(duration);
        }
        if text.parse::<jiff::civil::DateTime>().is_ok() || text.parse::<jiff::Timestamp>().is_ok()
        {
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
        Ok(nanoseconds) => Ok(from_nanoseconds(nanoseconds)),
        Err(_) => Err(Fault::new(text, format!("the duration {text} is negative"))),
    }
}

/// Parses what Go's durations, and so Temporal's, also allow: units in any order and more than once
/// (`30m1h`), and numbers that begin with a point (`.5h`).
fn parse_as_go(text: &str) -> Option<Duration> {
    // Longer numbers are refused: numbers of this length, in days, cannot overflow 128 bits.
    const DIGITS_MAX: usize = 18;
    let mut rest = text;
    let mut nanoseconds = 0;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let (number, after) = rest.split_at(rest.find(|c| !is_number(c))?);
        let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        let unit: u128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if number.len() > DIGITS_MAX {
            return None;
        }
        let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
        nanoseconds += digits * unit / 10u128.pow(fraction.len() as u32);
        rest = after;
    }
    Some(from_nanoseconds(nanoseconds))
}

fn from_nanoseconds(nanoseconds: u128) -> Duration {
    let seconds = u64::try_from(nanoseconds / 1_000_000_000).unwrap_or(u64::MAX);
    Duration::new(seconds, (nanoseconds % 1_000_000_000) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_go_reads_are_read_as_go_reads_them() {
        let seconds = |text| parse_duration(text).map(|duration| duration.as_secs_f64()).ok();
        assert_eq!(seconds("30m1h"), Some(5_400.0));
        assert_eq!(seconds("1h1h"), Some(7_200.0));
        assert_eq!(seconds(".5h"), Some(1_800.0));
        assert_eq!(seconds("1.5h30m"), Some(7_200.0));
        assert_eq!(seconds("1s500ms1d"), Some(86_401.5));
        for text in
            [".", ".h", "1.2.3h", "h", "1h1", "5", "1h 1h", "1x1h", "1000000000000000000d1d"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
        let many = "999999999999999999d".repeat(500);
        assert_eq!(parse_duration(&many).map(|duration| duration.as_secs()), Ok(u64::MAX));
    }
}
