//! One field of a calendar expression: names, numbers, ranges.

use crate::civil::{YEAR_MAX, YEAR_MIN};
use crate::definition::FieldRange;
use crate::error::Fault;

/// The fields of a calendar. Days of the week end with 7, because Sunday is 0 and 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
    Year,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// How names may be shortened.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// Temporal: any prefix of at least three letters (months) or two (weekdays).
    Prefixes,
    /// DBOS: in full or three letters.
    FullOrThree,
    /// Classic: three letters.
    Three,
}

impl Field {
    pub(super) fn name(self) -> &'static str {
        match self {
            Field::Second => "second",
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day of month",
            Field::Month => "month",
            Field::DayOfWeek => "day of week",
            Field::Year => "year",
        }
    }

    pub(super) fn bounds(self) -> (u16, u16) {
        match self {
            Field::Second | Field::Minute => (0, 59),
            Field::Hour => (0, 23),
            Field::DayOfMonth => (1, 31),
            Field::Month => (1, 12),
            Field::DayOfWeek => (0, 7),
            Field::Year => (YEAR_MIN as u16, YEAR_MAX as u16),
        }
    }

    fn known_names(self) -> &'static [&'static str] {
        match self {
            Field::Month => &MONTHS,
            Field::DayOfWeek => &WEEKDAYS,
            Field::Second | Field::Minute | Field::Hour | Field::DayOfMonth | Field::Year => &[],
        }
    }

    fn out_of_range_help(self, value: u32) -> Option<&'static str> {
        match (self, value) {
            (Field::Hour, 24) => Some("midnight is 0"),
            (Field::Minute, 60) => Some("the full hour is 0"),
            (Field::Second, 60) => Some("the full minute is 0"),
            (Field::DayOfMonth, 0) => Some("the first day is 1"),
            (Field::DayOfMonth, 32..) => Some("the last day of the month is L"),
            (Field::Month, 0) => Some("January is 1"),
            (Field::Month, 13..) => Some("December is 12"),
            (Field::DayOfWeek, 8..) => Some("Sunday is 0 or 7, Saturday is 6"),
            _ => None,
        }
    }

    /// One number or name. Sunday by name is 0.
    pub(super) fn value(self, text: &str, names: Names) -> Result<u16, Fault<'_>> {
        if text.is_empty() {
            return Err(Fault::new(text, format!("a {} is missing", self.name())));
        }
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            if let Some(value) = self.value_of_name(text, names) {
                return Ok(value);
            }
        } else if text.bytes().all(|b| b.is_ascii_digit()) {
            // More digits than fit are out of range whatever they are.
            let value = text.parse::<u32>().unwrap_or(u32::MAX);
            let (min, max) = self.bounds();
            return match u16::try_from(value) {
                Ok(value) if (min..=max).contains(&value) => Ok(value),
                _ => {
                    let name = self.name();
                    let fault =
                        Fault::new(text, format!("{name} {text} is out of range {min}–{max}"));
                    Err(match self.out_of_range_help(value) {
                        Some(help) => fault.help(help),
                        None => fault,
                    })
                }
            };
        }
        Err(self.not_a_value(text))
    }

    fn value_of_name(self, text: &str, names: Names) -> Option<u16> {
        let text = text.to_ascii_lowercase();
        let shortest = if self == Field::DayOfWeek { 2 } else { 3 };
        let position = self.known_names().iter().position(|name| match names {
            Names::Prefixes => text.len() >= shortest && name.starts_with(&text),
            Names::FullOrThree => text == *name || text == name[..3],
            Names::Three => text == name[..3],
        })?;
        let first = if self == Field::Month { 1 } else { 0 };
        Some(position as u16 + first)
    }

    fn not_a_value<'t>(self, text: &'t str) -> Fault<'t> {
        let (min, max) = self.bounds();
        let name = self.name();
        let fault = Fault::new(text, format!("{text:?} is not a {name}"));
        if text == "?" {
            return fault.help("write * for every one");
        }
        let known = self.known_names();
        let short = known.iter().map(|name| &name[..3]);
        match crate::error::nearest(text, known.iter().copied().chain(short)) {
            Some(name) => fault.help(format!("did you mean {}?", &name[..3].to_uppercase())),
            None if known.is_empty() => fault.help(format!("write numbers {min}–{max}, or *")),
            None => {
                let example = known[1][..3].to_uppercase();
                fault.help(format!("write numbers {min}–{max}, names such as {example}, or *"))
            }
        }
    }

    /// `a-b`, or just `a`, as first and last value.
    pub(super) fn span(self, text: &str, names: Names) -> Result<(u16, u16), Fault<'_>> {
        let Some((low, high)) = text.split_once('-') else {
            let value = self.value(text, names)?;
            return Ok((value, value));
        };
        let start = self.value(low, names)?;
        let mut end = self.value(high, names)?;
        if self == Field::DayOfWeek && end == 0 && start > 0 && !high.starts_with('0') {
            // FRI-SUN: the Sunday that ends the week.
            end = 7;
        }
        if end < start {
            let (min, max) = self.bounds();
            let max = if self == Field::DayOfWeek { 6 } else { max };
            return Err(Fault::new(text, format!("{} range {text} runs backwards", self.name()))
                .help(format!("write {low}-{max},{min}-{high}")));
        }
        Ok((start, end))
    }

    /// A step: a whole number of at least 1.
    pub(super) fn step(self, text: &str) -> Result<u16, Fault<'_>> {
        let name = self.name();
        match text.parse::<u32>() {
            Ok(1..) if text.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(text.parse::<u16>().unwrap_or(u16::MAX))
            }
            _ => Err(Fault::new(text, format!("{text:?} is not a step for the {name}"))
                .help("write a number from 1 up after the /")),
        }
    }

    /// Every value of the field.
    pub(super) fn all(self) -> Vec<FieldRange> {
        match self {
            Field::Year => Vec::new(),
            Field::DayOfWeek => vec![FieldRange::new(0, 6)],
            Field::Second | Field::Minute | Field::Hour | Field::DayOfMonth | Field::Month => {
                let (min, max) = self.bounds();
                vec![FieldRange::new(min, max)]
            }
        }
    }
}

/// Splits the text into exactly the fields that `counts` allows.
pub(super) fn words<'t>(
    text: &'t str,
    counts: &[usize],
    help: &str,
) -> Result<Vec<&'t str>, Fault<'t>> {
    let words: Vec<&str> = text.split_whitespace().take(9).collect();
    if counts.contains(&words.len()) {
        return Ok(words);
    }
    let expected = match counts {
        [one] => one.to_string(),
        [first, last] => format!("{first} or {last}"),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    };
    let found = match words.len() {
        1 => "1 field".to_owned(),
        9 => "more than 8 fields".to_owned(),
        n => format!("{n} fields"),
    };
    let in_words = words.first().is_some_and(|word| word.eq_ignore_ascii_case("every"));
    let help = if in_words { "write @every 5m, @hourly, @daily or @weekly" } else { help };
    // Point at what is too much, or at the end where something is missing.
    let most = counts.iter().copied().max().unwrap_or(0);
    let at = words.get(most).copied().unwrap_or(&text[text.len()..]);
    Err(Fault::new(at, format!("a cron string has {expected} fields, this has {found}")).help(help))
}
