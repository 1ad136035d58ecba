//! Phrases intervals and repeats.

use jiff::Timestamp;

use super::wording::{clock, counted, date_at, duration, every, every_unit};
use crate::civil;
use crate::definition::Interval;
use crate::repeat::{Period, Repeat};

const SECONDS_PER_DAY: u64 = civil::SECONDS_PER_DAY as u64;

/// `every 6 hours, counted from 05:00 UTC`. The words for what comes at the same times every day
/// name a time of day, others the first multiple since 1970.
pub(super) fn interval(interval: Interval) -> String {
    let Interval { every: length, phase } = interval;
    let every = every(length);
    if length == SECONDS_PER_DAY {
        return format!("{every}, at {} UTC", clock(phase as u32));
    }
    if SECONDS_PER_DAY.is_multiple_of(length) {
        return format!("{every}, counted from {} UTC", clock(phase as u32));
    }
    // No longer than the years that timestamps have, so the phase is among them unless it is
    // thousands of years away.
    match i64::try_from(phase).ok().and_then(|second| Timestamp::from_second(second).ok()) {
        Some(first) => format!("{every}, counted from {first}"),
        None => {
            let phase = duration(phase);
            format!("{every}, {phase} after each multiple counted from 1970-01-01T00:00:00Z")
        }
    }
}

/// `every month from 2026-01-31 at 09:00 (the last day in shorter months)`.
pub(super) fn repeat(repeat: &Repeat) -> String {
    let start = date_at(repeat.start);
    let (every, note) = match repeat.every {
        // A civil time that happens once is the same whatever its period.
        Period::Days(_) | Period::Months(_) if repeat.count == Some(1) => {
            return format!("once, on {start}");
        }
        Period::Days(days) if days % 7 == 0 => (every_unit(days / 7, "week"), ""),
        Period::Days(days) => (every_unit(days, "day"), ""),
        Period::Months(months) => {
            let every = match months % 12 {
                0 => every_unit(months / 12, "year"),
                _ => every_unit(months, "month"),
            };
            (every, clamped(repeat, months))
        }
        Period::Seconds(seconds) => (format!("{} of elapsed time", every(seconds)), ""),
    };
    let count = match repeat.count {
        None => String::new(),
        Some(count) => {
            let what = match repeat.every {
                Period::Days(_) | Period::Months(_) => "date",
                Period::Seconds(_) => "time",
            };
            format!(", {} in all", counted(count.into(), what))
        }
    };
    format!("{every} from {start}{note}{count}")
}

/// A note on months that don't have the day.
fn clamped(repeat: &Repeat, months: u32) -> &'static str {
    match repeat.start.day() {
        29.. if !months.is_multiple_of(12) => " (the last day in shorter months)",
        29 if repeat.start.month() == 2 => " (the 28th in other than leap years)",
        _ => "",
    }
}
