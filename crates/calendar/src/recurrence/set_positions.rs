//! `BYSETPOS` in weeks, months and years: the nth of all times of a period.

use super::cadence::{Cadence, Period};
use super::days::DayFilter;
use super::month::{Month, MonthDays};
use super::steps::step;
use super::times::{Times, nth_bit};
use crate::civil::{Day, WallSecond};

/// The times of a period are its matching days, each with the same times of the day. Their places
/// are counted from 0 here.
#[derive(Clone, Debug)]
pub(super) struct SetPositions {
    cadence: Cadence,
    days: DayFilter,
    times: Times,
    /// Places that are named from the first on, ascending.
    from_first: Vec<u32>,
    /// How far before the end others are (the last one is 1), descending.
    before_end: Vec<u32>,
}

impl SetPositions {
    /// `positions` are in canonical order: positive ones first, each ascending.
    pub(super) fn new(cadence: Cadence, days: DayFilter, times: Times, positions: &[i16]) -> Self {
        let (negative, positive): (Vec<i16>, Vec<i16>) = positions.iter().partition(|p| **p < 0);
        SetPositions {
            cadence,
            days,
            times,
            from_first: positive.iter().map(|p| u32::from(p.unsigned_abs()) - 1).collect(),
            before_end: negative.iter().map(|p| p.unsigned_abs().into()).collect(),
        }
    }

    /// A period's set begins with the period, even if `DTSTART` lies within it.
    pub(super) fn next(&self, from: WallSecond, last_day: Day) -> Option<WallSecond> {
        let (today, now) = from.split();
        let times_a_day = self.times.len();
        let mut period = self.cadence.period_at_or_after(today, last_day)?;
        loop {
            step();
            let days = PeriodDays::new(&self.days, period);
            // At most 366 days of 86,400 seconds.
            let length = days.len() * times_a_day;
            let (days_before, is_today) = days.before(today);
            let times_before = if is_today { self.times.count_before(now) } else { 0 };
            let passed = days_before * times_a_day + times_before;
            if let Some(place) = self.place_at_or_after(passed, length) {
                let day = days.nth(place / times_a_day)?;
                return Some(WallSecond::new(day, self.times.nth(place % times_a_day)?));
            }
            period = self.cadence.period_at_or_after(Day(period.last.0 + 1), last_day)?;
        }
    }

    fn place_at_or_after(&self, place: u32, length: u32) -> Option<u32> {
        let first = self.from_first.partition_point(|p| *p < place);
        let last = self.before_end.partition_point(|p| *p > length || length - *p < place);
        let from_first = self.from_first.get(first).filter(|p| **p < length).copied();
        let from_last = self.before_end.get(last).map(|p| length - p);
        from_first.into_iter().chain(from_last).min()
    }
}

/// The matching days of a period, a month at a time.
struct PeriodDays {
    months: [(Month, MonthDays); 12],
    used: usize,
}

impl PeriodDays {
    fn new(filter: &DayFilter, period: Period) -> Self {
        let mut month = Month::of(period.first);
        let mut days = PeriodDays { months: [(month, 0); 12], used: 0 };
        for slot in &mut days.months {
            let outside = month.days_from(Day(period.last.0 + 1));
            *slot = (month, filter.days_in(month) & month.days_from(period.first) & !outside);
            days.used += 1;
            if month.last() >= period.last {
                break;
            }
            month = month.following();
        }
        days
    }

    fn months(&self) -> &[(Month, MonthDays)] {
        &self.months[..self.used]
    }

    fn len(&self) -> u32 {
        self.months().iter().map(|(_, days)| days.count_ones()).sum()
    }

    /// The number of matching days before `day`, and whether `day` matches.
    fn before(&self, day: Day) -> (u32, bool) {
        let mut count = 0;
        for (month, days) in self.months() {
            let left = days & month.days_from(day);
            count += (days & !left).count_ones();
            if month.last() >= day {
                let is_next = left != 0 && month.day(left.trailing_zeros() as u8) == day;
                return (count, is_next);
            }
        }
        (count, false)
    }

    /// `place` counts from 0.
    fn nth(&self, mut place: u32) -> Option<Day> {
        for (month, days) in self.months() {
            let here = days.count_ones();
            if place < here {
                return Some(month.day(nth_bit(u64::from(*days), place)? as u8));
            }
            place -= here;
        }
        None
    }
}
