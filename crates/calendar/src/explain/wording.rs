//! Numbers, names and lists in English.

use jiff::civil::DateTime;

use super::fields::{Progression, ValueSet};
use crate::hash::fnv1a;

/// Evenly spaced values are phrased as "every 2nd …" from this number on; fewer are listed.
pub(super) const PROGRESSION_MIN: u32 = 5;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// `1` is January.
pub(super) fn month(number: u16) -> &'static str {
    MONTHS[usize::from((number + 11) % 12)]
}

/// `1` is Monday; `0` and `7` are Sunday.
pub(super) fn weekday(number: u16) -> &'static str {
    WEEKDAYS[usize::from((number + 6) % 7)]
}

/// `1st`, `22nd`, `113th`.
pub(super) fn ordinal(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// `a`, `a and b`, `a, b and c`, for any last word.
pub(super) fn join(items: &[String], last_word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} {last_word} {last}", most.join(", ")),
    }
}

/// The values by name, three or more neighbours as a range: `1st`, `5th through 9th`.
pub(super) fn runs(set: ValueSet, name: impl Fn(u16) -> String) -> Vec<String> {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for value in set.values() {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == value => *end = value,
            _ => runs.push((value, value)),
        }
    }
    let mut items = Vec::new();
    for (start, end) in runs {
        if end - start >= 2 {
            items.push(format!("{} through {}", name(start), name(end)));
        } else {
            items.extend((start..=end).map(&name));
        }
    }
    items
}

/// The set as a progression with gaps in it that is long enough not to be listed.
pub(super) fn long_progression(set: ValueSet) -> Option<Progression> {
    set.progression().filter(|p| p.step > 1 && p.len() >= PROGRESSION_MIN)
}

/// `5 minutes`, `90 minutes`, `1 day 3 hours`.
pub(super) fn duration(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    for (unit, name) in UNITS {
        let count = seconds / unit;
        if count > 0 && seconds.is_multiple_of(unit) && (count < 100 || unit == 86_400) {
            return counted(count, name);
        }
    }
    let mut rest = seconds;
    let mut words = Vec::new();
    for (unit, name) in UNITS {
        if rest >= unit {
            words.push(counted(rest / unit, name));
            rest %= unit;
        }
    }
    words.join(" ")
}

/// `every minute`, `every 5 minutes`.
pub(super) fn every(seconds: u64) -> String {
    match seconds {
        1 => "every second".to_owned(),
        60 => "every minute".to_owned(),
        3_600 => "every hour".to_owned(),
        // "Every day" is for what follows the clock; this is exact.
        86_400 => "every 24 hours".to_owned(),
        _ => format!("every {}", duration(seconds)),
    }
}

/// `every week`, `every 2 weeks`.
pub(super) fn every_unit(count: u32, unit: &str) -> String {
    if count == 1 { format!("every {unit}") } else { format!("every {count} {unit}s") }
}

/// `1 hour`, `2 hours`.
pub(super) fn counted(count: u64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// `09:00`, `09:00:30`.
pub(super) fn clock(second_of_day: u32) -> String {
    let (hour, minute, second) =
        (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    match second {
        0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

/// `2026-01-31 at 09:00`.
pub(super) fn date_at(time: DateTime) -> String {
    format!("{} at {}", time.date(), clock_of(time))
}

/// `09:00`, `09:00:30`.
pub(super) fn clock_of(time: DateTime) -> String {
    let (hour, minute, second) =
        (time.hour().unsigned_abs(), time.minute().unsigned_abs(), time.second().unsigned_abs());
    clock(u32::from(hour) * 3600 + u32::from(minute) * 60 + u32::from(second))
}

pub(super) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Sixteen hexadecimal digits that tell different bytes apart.
pub(super) fn fingerprint(bytes: &[u8]) -> String {
    format!("{:016x}", fnv1a(bytes))
}
