//! Rules in hours, minutes or seconds: multiples of `INTERVAL` that fall on allowed times.
//!
//! The multiples fall on seconds of the day in a pattern that shifts from day to day and repeats. The shifts
//! that contain an allowed time are computed once. So each day costs one lookup, and a rule that can never
//! match is known to be empty before the search begins.

use super::days::DayFilter;
use super::steps::step;
use super::times::Times;
use super::{Frequency, Recurrence};
use crate::civil::{Day, SECONDS_PER_DAY, WallSecond};

#[derive(Clone, Debug)]
pub(super) struct SubDaily {
    days: DayFilter,
    /// When a period may begin, as seconds of the day.
    starts: Times,
    /// The times of a period, as seconds from its beginning.
    within: Times,
    /// The second at which the period of `DTSTART` begins.
    anchor: i64,
    /// An hour, a minute or a second, in seconds.
    unit: i64,
    /// `INTERVAL`, in seconds.
    interval: i64,
    shifts: Shifts,
}

/// The set of shifts whose days have an allowed start. The shift of a day is its first multiple of the
/// interval, as a second of the day.
#[derive(Clone, Debug)]
enum Shifts {
    /// No day has one.
    None,
    /// Not precomputed: a check takes one or two steps.
    Unknown,
    /// One bit for each unit of the interval.
    Known(Vec<u64>),
}

impl SubDaily {
    pub(super) fn new(rule: &Recurrence, days: DayFilter) -> Self {
        let unit = match rule.frequency {
            Frequency::Hourly => 3600,
            Frequency::Minutely => 60,
            Frequency::Secondly
            | Frequency::Daily
            | Frequency::Weekly
            | Frequency::Monthly
            | Frequency::Yearly => 1,
        };
        let interval = unit * i64::from(rule.interval);
        let start = WallSecond::from(rule.anchor()).0;
        let anchor = start - start.rem_euclid(unit);
        let starts = Times::of_sub_daily_starts(rule);
        let shifts = Shifts::new(&starts, anchor, unit, interval);
        let within = Times::of_sub_daily_period(rule);
        SubDaily { days, starts, within, anchor, unit, interval, shifts }
    }

    pub(super) fn next(&self, from: WallSecond, last_day: Day) -> Option<WallSecond> {
        if matches!(self.shifts, Shifts::None) {
            return None;
        }
        let first_within = self.within.at_or_after(0)?;
        let (today, now) = from.split();
        if self.days.contains(today)
            && let Some(second) = self.later_today(today, now, first_within)
        {
            return Some(WallSecond::new(today, second));
        }
        let mut days = self.days.between(Day(today.0 + 1), last_day);
        days.find_map(|day| {
            let start = self.start_at_or_after(day, 0)?;
            Some(WallSecond::new(day, start + first_within))
        })
    }

    fn later_today(&self, day: Day, now: u32, first_within: u32) -> Option<u32> {
        let unit = self.unit as u32;
        let current = now - now % unit;
        let start = self.start_at_or_after(day, current)?;
        if start > current {
            return Some(start + first_within);
        }
        // Within a period: the rest of it, or else the next period.
        if let Some(within) = self.within.at_or_after(now - current) {
            return Some(current + within);
        }
        Some(self.start_at_or_after(day, current + unit)? + first_within)
    }

    /// The first period of `day` that begins at or after that second of it.
    fn start_at_or_after(&self, day: Day, second: u32) -> Option<u32> {
        let midnight = WallSecond::new(day, 0).0;
        let shift = (self.anchor - midnight).rem_euclid(self.interval);
        if !self.shifts.allow(shift, self.unit) {
            return None;
        }
        first_allowed(&self.starts, shift, self.interval, second.into())
    }
}

impl Shifts {
    fn new(starts: &Times, anchor: i64, unit: i64, interval: i64) -> Self {
        // Two shifts differ by whole days minus whole intervals, so by multiples of this divisor, and every
        // multiple occurs.
        let grid = gcd(interval, SECONDS_PER_DAY);
        if first_allowed(starts, anchor.rem_euclid(grid), grid, 0).is_none() {
            return Shifts::None;
        }
        // All starts allowed, or at most one multiple of the interval a day.
        if i64::from(starts.len()) == SECONDS_PER_DAY / unit || interval >= SECONDS_PER_DAY {
            return Shifts::Unknown;
        }
        let shifts = (interval / unit) as usize;
        let mut known = vec![0_u64; shifts.div_ceil(64)];
        let mut missing = shifts;
        let mut second = 0;
        while missing > 0
            && let Some(start) = starts.at_or_after(second)
        {
            let shift = (i64::from(start) % interval / unit) as usize;
            let (word, bit) = (&mut known[shift / 64], 1 << (shift % 64));
            missing -= usize::from(*word & bit == 0);
            *word |= bit;
            second = start + 1;
        }
        Shifts::Known(known)
    }

    fn allow(&self, shift: i64, unit: i64) -> bool {
        match self {
            Shifts::None => false,
            Shifts::Unknown => true,
            Shifts::Known(known) => {
                let shift = (shift / unit) as usize;
                known[shift / 64] & 1 << (shift % 64) != 0
            }
        }
    }
}

/// The first of `shift`, `shift + interval`, … that is at or after `second` and in `allowed`. Advances
/// both sequences alternately, each past the other's position.
fn first_allowed(allowed: &Times, shift: i64, interval: i64, second: i64) -> Option<u32> {
    let multiple_from = |second: i64| second + (shift - second).rem_euclid(interval);
    let mut second = multiple_from(second);
    while second < SECONDS_PER_DAY {
        step();
        let next = allowed.at_or_after(second as u32)?;
        if i64::from(next) == second {
            return Some(next);
        }
        second = multiple_from(next.into());
    }
    None
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
