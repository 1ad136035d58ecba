//! The canonical text of each part. Parsing it yields the same part, except that comments may lose
//! blanks at their ends and control characters.

use std::fmt;

use crate::definition::{Calendar, FieldRange, Interval, SpecialDay, SpecialWeekday};
use crate::parse::FieldTexts;

/// As a cron string, with as few fields as possible. A field that matches nothing, which no cron string can
/// express, is shown as `-`.
///
/// ```
/// use perennial_calendar::{Definition, Dialect};
/// let read = |text| Definition::read(&[text], Dialect::Temporal).map(|d| d.calendars[0].to_string());
/// assert_eq!(read(r#"{"dayOfWeek":"Fri","hour":"11","minute":"3"}"#)?, "3 11 * * 5");
/// assert_eq!(read("0 0 l * sunday#1 2027")?, "0 0 L * 0#1 2027");
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FieldTexts { second, minute, hour, day_of_month, month, day_of_week, year, comment } =
            FieldTexts::of(self);
        let has_seconds = self.second != [FieldRange::single(0)];
        if has_seconds {
            write!(f, "{second} ")?;
        }
        write!(f, "{minute} {hour} {day_of_month} {month} {day_of_week}")?;
        if !year.is_empty() {
            write!(f, " {year}")?;
        } else if has_seconds {
            f.write_str(" *")?;
        }
        if !comment.is_empty() {
            write!(f, " # {comment}")?;
        }
        Ok(())
    }
}

impl FieldTexts {
    /// The texts of a calendar. A field that matches nothing has the text `-`, which can't be read back.
    pub fn of(calendar: &Calendar) -> Self {
        let year = &calendar.year;
        Self {
            second: field_text(&calendar.second, (0, 59), &[]),
            minute: field_text(&calendar.minute, (0, 59), &[]),
            hour: field_text(&calendar.hour, (0, 23), &[]),
            day_of_month: field_text(
                &calendar.day_of_month,
                (1, 31),
                &texts(&calendar.special_days),
            ),
            month: field_text(&calendar.month, (1, 12), &[]),
            day_of_week: field_text(
                &calendar.day_of_week,
                (0, 6),
                &texts(&calendar.special_weekdays),
            ),
            year: if year.is_empty() { String::new() } else { field_text(year, (0, 0), &[]) },
            comment: calendar.comment.clone(),
        }
    }
}

fn texts<T: fmt::Display>(items: &[T]) -> Vec<String> {
    items.iter().map(T::to_string).collect()
}

fn field_text(ranges: &[FieldRange], all: (u16, u16), special: &[String]) -> String {
    if ranges.is_empty() && special.is_empty() {
        return "-".to_owned();
    }
    let every = FieldRange::new(all.0, all.1);
    let ranges = ranges.iter().map(|range| match range {
        range if *range == every => "*".to_owned(),
        FieldRange { start, end, step: 1 } if start == end => start.to_string(),
        FieldRange { start, end, step: 1 } => format!("{start}-{end}"),
        FieldRange { start, end, step } => format!("{start}-{end}/{step}"),
    });
    ranges.chain(special.iter().cloned()).collect::<Vec<_>>().join(",")
}

impl fmt::Display for SpecialDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecialDay::BeforeLast(0) => f.write_str("L"),
            SpecialDay::BeforeLast(before) => write!(f, "L-{before}"),
            SpecialDay::LastWeekday => f.write_str("LW"),
            SpecialDay::NearestWeekday(day) => write!(f, "{day}W"),
        }
    }
}

impl fmt::Display for SpecialWeekday {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecialWeekday::Nth { weekday, nth } => write!(f, "{weekday}#{nth}"),
            SpecialWeekday::Last { weekday } => write!(f, "{weekday}L"),
        }
    }
}

/// As `every` or `every/phase`, in days, hours, minutes and seconds.
///
/// ```
/// use perennial_calendar::Interval;
/// assert_eq!(Interval { every: 18_000, phase: 900 }.to_string(), "5h/15m");
/// assert_eq!(Interval { every: 90_061, phase: 0 }.to_string(), "1d1h1m1s");
/// ```
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(f, self.every)?;
        if self.phase > 0 {
            f.write_str("/")?;
            write_seconds(f, self.phase)?;
        }
        Ok(())
    }
}

fn write_seconds(f: &mut fmt::Formatter<'_>, seconds: u64) -> fmt::Result {
    let units = [(seconds / 86_400, 'd'), (seconds / 3600 % 24, 'h'), (seconds / 60 % 60, 'm')];
    for (count, unit) in units.into_iter().filter(|(count, _)| *count > 0) {
        write!(f, "{count}{unit}")?;
    }
    if seconds == 0 || !seconds.is_multiple_of(60) {
        write!(f, "{}s", seconds % 60)?;
    }
    Ok(())
}
