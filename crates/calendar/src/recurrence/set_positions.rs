//! `BYSETPOS` in weeks, months and years: the nth of all times of a period.

use super::cadence::Cadence;
use super::days::DayFilter;
use super::steps::step;
use super::times::Times;
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
        let (mut day, _) = from.split();
        let times_a_day = self.times.len();
        let mut days = Vec::new();
        while let Some(period) = self.cadence.period_at_or_after(day, last_day) {
            step();
            days.clear();
            days.extend(self.days.between(period.first, period.last));
            // At most 366 days of 86,400 seconds.
            let length = days.len() as u32 * times_a_day;
            if let Some(place) = self.place_at_or_after(self.places_before(from, &days), length) {
                let day = days.get((place / times_a_day) as usize)?;
                return Some(WallSecond::new(*day, self.times.nth(place % times_a_day)?));
            }
            day = Day(period.last.0 + 1);
        }
        None
    }

    fn places_before(&self, from: WallSecond, days: &[Day]) -> u32 {
        let (today, now) = from.split();
        let days_before = days.partition_point(|day| *day < today);
        let times_before =
            if days.get(days_before) == Some(&today) { self.times.count_before(now) } else { 0 };
        days_before as u32 * self.times.len() + times_before
    }

    fn place_at_or_after(&self, place: u32, length: u32) -> Option<u32> {
        let first = self.from_first.partition_point(|p| *p < place);
        let last = self.before_end.partition_point(|p| *p > length || length - *p < place);
        let from_first = self.from_first.get(first).filter(|p| **p < length).copied();
        let from_last = self.before_end.get(last).map(|p| length - p);
        from_first.into_iter().chain(from_last).min()
    }
}
