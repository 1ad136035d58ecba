//! The values of a rule's parts: numbers, lists of them, and weekdays.

use std::ops::RangeInclusive;

use jiff::civil::Weekday;

use super::display::weekday_code;
use super::parts::{Name, Part};
use super::{Frequency, WeekdayNum};
use crate::error::{Fault, nearest};

/// The whole value as one number, at least 1.
pub(super) fn number<'t>(part: Part<'t>, max: u32) -> Result<u32, Fault<'t>> {
    one(part.name, part.value, Range { values: 1..=i64::from(max), or_negative: false })
}

/// A list of numbers of which none is negative.
pub(super) fn numbers<'t>(
    part: Option<Part<'t>>,
    values: RangeInclusive<i64>,
) -> Result<Vec<u8>, Fault<'t>> {
    list(part, Range { values, or_negative: false })
}

/// A list of numbers from 1 to `max`, or from `-max` to -1.
pub(super) fn positions<'t, N: TryFrom<i64> + Into<i64> + Copy>(
    part: Option<Part<'t>>,
    max: i64,
) -> Result<Vec<N>, Fault<'t>> {
    list(part, Range { values: 1..=max, or_negative: true })
}

pub(super) fn frequency<'t>(part: Part<'t>) -> Result<Frequency, Fault<'t>> {
    let value = part.value;
    let known = Frequency::ALL.into_iter().find(|f| f.name().eq_ignore_ascii_case(value));
    known.ok_or_else(|| {
        let names = Frequency::ALL.map(Frequency::name);
        let fault = Fault::new(value, format!("FREQ {value:?} is not a frequency"));
        match nearest(value, names.into_iter()) {
            Some(near) => fault.help(format!("did you mean {near}?")),
            None => fault.help(format!("write {}", names.join(", "))),
        }
    })
}

pub(super) fn weekday<'t>(part: Part<'t>, text: &'t str) -> Result<Weekday, Fault<'t>> {
    let coded =
        |code: &str| WEEKDAYS.into_iter().find(|w| code.eq_ignore_ascii_case(weekday_code(*w)));
    coded(text).ok_or_else(|| {
        let fault = Fault::new(text, format!("{} {text:?} is not a weekday", part.name.text()));
        match text.get(..2).and_then(coded) {
            Some(weekday) => fault.help(format!("write {}", weekday_code(weekday))),
            None => fault.help("weekdays are MO, TU, WE, TH, FR, SA and SU"),
        }
    })
}

/// The entries of `BYDAY` with their texts, for error messages.
pub(super) fn weekday_nums<'t>(part: Part<'t>) -> Result<Vec<(WeekdayNum, &'t str)>, Fault<'t>> {
    const NTH: Range = Range { values: 1..=53, or_negative: true };
    let mut found = Vec::new();
    for text in part.value.split(',') {
        let letters = text.find(|c: char| !matches!(c, '+' | '-' | '0'..='9'));
        let (nth, day) = text.split_at(letters.unwrap_or(text.len()));
        if day.is_empty() && !nth.is_empty() {
            return Err(Fault::new(text, format!("BYDAY {text:?} does not say which weekday"))
                .help(format!("write {nth}MO for the Monday of that number")));
        }
        let weekday = weekday(part, day)?;
        let nth = if nth.is_empty() { None } else { Some(one(part.name, nth, NTH)?) };
        found.push((WeekdayNum { nth, weekday }, text));
    }
    found.sort_by_key(|(day, _)| {
        (day.nth.is_some(), sign_last(day.nth), day.weekday.to_monday_zero_offset())
    });
    found.dedup_by_key(|(day, _)| *day);
    Ok(found)
}

const WEEKDAYS: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

/// The allowed numbers: `values` and, if `or_negative`, their negatives.
#[derive(Clone)]
struct Range {
    values: RangeInclusive<i64>,
    or_negative: bool,
}

impl Range {
    fn allows(&self, n: i64) -> bool {
        self.values.contains(&n) || self.or_negative && self.values.contains(&-n)
    }

    fn text(&self) -> String {
        let (low, high) = (self.values.start(), self.values.end());
        if self.or_negative {
            format!("{low}–{high} or -{high} to -{low}")
        } else {
            format!("{low}–{high}")
        }
    }
}

fn list<'t, N: TryFrom<i64> + Into<i64> + Copy>(
    part: Option<Part<'t>>,
    range: Range,
) -> Result<Vec<N>, Fault<'t>> {
    let Some(part) = part else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for text in part.value.split(',') {
        found.push(one::<N>(part.name, text, range.clone())?);
    }
    found.sort_by_key(|n| sign_last(Some(*n)));
    found.dedup_by_key(|n| -> i64 { (*n).into() });
    Ok(found)
}

/// Orders by position: negative numbers count from the end, so they come last.
fn sign_last<N: Into<i64>>(n: Option<N>) -> Option<(bool, i64)> {
    n.map(|n| {
        let n = n.into();
        (n < 0, n)
    })
}

fn one<N: TryFrom<i64>>(name: Name, text: &str, range: Range) -> Result<N, Fault<'_>> {
    let label = name.text();
    if text.is_empty() {
        return Err(Fault::new(text, format!("a value of {label} is missing"))
            .help("remove the comma, or write a number there"));
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number || (text.starts_with('+') && !range.or_negative) {
        return Err(Fault::new(text, format!("{label} {text:?} is not a number"))
            .help(format!("write a number, {}", range.text())));
    }
    // More digits than an i64 has are out of every range.
    let number: Option<i64> = text.parse().ok();
    let read = number.filter(|n| range.allows(*n)).and_then(|n| N::try_from(n).ok());
    read.ok_or_else(|| {
        let fault = Fault::new(text, format!("{label} {text} is out of range {}", range.text()));
        match help_on_range(name, number) {
            Some(help) => fault.help(help),
            None => fault,
        }
    })
}

fn help_on_range(name: Name, number: Option<i64>) -> Option<&'static str> {
    match (name, number) {
        (Name::ByHour, Some(24)) => Some("midnight is 0"),
        (Name::ByMinute, Some(60)) => Some("the full hour is 0"),
        (Name::ByMonth, Some(0)) => Some("January is 1"),
        (Name::ByMonthDay | Name::ByYearDay, Some(0)) => Some("the first day is 1, the last is -1"),
        (Name::ByWeekNo, Some(0)) => Some("the first week is 1, the last is -1"),
        (Name::ByDay, Some(0)) => Some("the first is 1, the last is -1; for all, leave it out"),
        (Name::BySetPos, Some(0)) => Some("the first is 1, the last is -1"),
        (Name::Count, Some(0)) => Some("for a rule without end, leave it out"),
        (Name::Count, _) => Some("to end later, write UNTIL, or leave it out"),
        _ => None,
    }
}
