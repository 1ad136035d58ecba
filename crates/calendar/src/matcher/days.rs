//! Which days a calendar matches: a month at a time, as a bit set.

use crate::civil::{Date, Day, days_in_month};
use crate::definition::{SpecialDay, SpecialWeekday};

/// The first and last year that calendars know, as Temporal has them.
pub(crate) const YEAR_MIN: i32 = 2000;
pub(crate) const YEAR_MAX: i32 = 2100;

/// The days of a calendar expression. A month's matching days are the AND of three 31-bit sets, so
/// the longest way to the next one, 101 years, is 1,212 such steps.
#[derive(Clone, Debug)]
pub(crate) struct DayMatcher {
    /// Bits 1–31.
    pub(crate) days_of_month: u32,
    /// Bits 0–6, Sunday first.
    pub(crate) weekdays: u8,
    /// Bits 1–12.
    pub(crate) months: u16,
    /// Bit n is the year 2000 + n.
    pub(crate) years: [u64; 2],
    /// `L`, `W` and `#`, for the few that use them.
    pub(crate) special: Option<Box<SpecialDays>>,
}

/// What depends on the month's length and first weekday.
#[derive(Clone, Debug)]
pub(crate) struct SpecialDays {
    pub(crate) days: Vec<SpecialDay>,
    pub(crate) weekdays: Vec<SpecialWeekday>,
}

/// A month under consideration.
#[derive(Clone, Copy)]
struct Month {
    year: i32,
    month: u8,
    /// Its first day.
    first: Day,
}

impl DayMatcher {
    /// The first matching day at or after `day`, and not after `until`.
    #[inline]
    pub(crate) fn next(&self, day: Day, until: Day) -> Option<Day> {
        let date = day.date();
        let first = Day(day.0 - i32::from(date.day) + 1);
        let mut month = Month { year: date.year, month: date.month, first };
        let mut candidates = !0u32 << date.day;
        if !self.has_month(date) {
            month = self.following(month)?;
            candidates = !0;
        }
        loop {
            let days = self.days_of(month) & candidates;
            if days != 0 {
                let found = Day(month.first.0 + days.trailing_zeros() as i32 - 1);
                return (found <= until).then_some(found);
            }
            month = self.following(month)?;
            candidates = !0;
            if month.first > until {
                return None;
            }
        }
    }

    pub(crate) fn matches(&self, day: Day, date: Date) -> bool {
        let first = Day(day.0 - i32::from(date.day) + 1);
        let month = Month { year: date.year, month: date.month, first };
        self.has_month(date) && self.days_of(month) & (1 << date.day) != 0
    }

    /// The first day after `day` that may not match: every day before it does. Looks no further
    /// than the month's end.
    pub(crate) fn run_end(&self, day: Day) -> Day {
        let date = day.date();
        let first = Day(day.0 - i32::from(date.day) + 1);
        let month = Month { year: date.year, month: date.month, first };
        let unmatched = !self.days_of(month) & (!0u32 << date.day);
        let length = i32::from(days_in_month(date.year, date.month));
        Day(first.0 + (unmatched.trailing_zeros() as i32 - 1).min(length))
    }

    fn has_month(&self, date: Date) -> bool {
        self.has_year(date.year) && self.months & (1 << date.month) != 0
    }

    fn has_year(&self, year: i32) -> bool {
        (YEAR_MIN..=YEAR_MAX).contains(&year) && {
            let bit = (year - YEAR_MIN) as usize;
            self.years[bit >> 6] & (1 << (bit & 63)) != 0
        }
    }

    /// The next month, by month and year alone.
    #[inline]
    fn following(&self, month: Month) -> Option<Month> {
        if self.has_year(month.year) {
            let later = self.months & (!0u16 << month.month << 1);
            if later != 0 {
                let found = later.trailing_zeros() as u8;
                let first = if found == month.month + 1 {
                    Day(month.first.0 + i32::from(days_in_month(month.year, month.month)))
                } else {
                    Date { year: month.year, month: found, day: 1 }.day_number()
                };
                return Some(Month { year: month.year, month: found, first });
            }
        }
        let year = self.year_after(month.year)?;
        if self.months == 0 {
            return None;
        }
        let found = self.months.trailing_zeros() as u8;
        let first = Date { year, month: found, day: 1 }.day_number();
        Some(Month { year, month: found, first })
    }

    fn year_after(&self, year: i32) -> Option<i32> {
        let bit = (year + 1 - YEAR_MIN).max(0) as u32;
        if bit < 64 {
            let low = self.years[0] & (!0u64 << bit);
            if low != 0 {
                return Some(YEAR_MIN + low.trailing_zeros() as i32);
            }
        }
        let bit = bit.max(64) - 64;
        if bit >= 64 {
            return None;
        }
        let high = self.years[1] & (!0u64 << bit);
        (high != 0).then(|| YEAR_MIN + 64 + high.trailing_zeros() as i32)
    }

    /// The month's matching days as bits 1–31.
    #[inline]
    fn days_of(&self, month: Month) -> u32 {
        let length = days_in_month(month.year, month.month);
        let first_weekday = month.first.weekday();
        let mut days = self.days_of_month;
        let mut weekdays = spread(self.weekdays, first_weekday);
        if let Some(special) = &self.special {
            days |=
                special.days.iter().fold(0, |set, d| set | special_day(*d, length, first_weekday));
            weekdays |= special
                .weekdays
                .iter()
                .fold(0, |set, d| set | special_weekday(*d, length, first_weekday));
        }
        let existing = ((1u64 << (length + 1)) - 2) as u32;
        days & weekdays & existing
    }
}

/// Repeats a set of weekdays over a month that begins on `first`.
fn spread(weekdays: u8, first: u8) -> u32 {
    const EVERY_SEVENTH: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
    let week = u64::from(weekdays) & 0x7f;
    let from_first = ((week | week << 7) >> first) & 0x7f;
    ((from_first * EVERY_SEVENTH) << 1) as u32
}

fn weekday_of(day: u8, first: u8) -> u8 {
    (first + day - 1) % 7
}

fn special_day(special: SpecialDay, length: u8, first: u8) -> u32 {
    match special {
        SpecialDay::BeforeLast(before) => match length.checked_sub(before) {
            Some(day @ 1..) => 1 << day,
            _ => 0,
        },
        SpecialDay::LastWeekday => 1 << nearest_weekday(length, length, first),
        SpecialDay::NearestWeekday(day) if day <= length => {
            1 << nearest_weekday(day, length, first)
        }
        SpecialDay::NearestWeekday(_) => 0,
    }
}

/// The Monday-to-Friday day nearest to `day`, without leaving the month.
fn nearest_weekday(day: u8, length: u8, first: u8) -> u8 {
    match weekday_of(day, first) {
        6 if day == 1 => 3,
        6 => day - 1,
        0 if day == length => day - 2,
        0 => day + 1,
        _ => day,
    }
}

fn special_weekday(special: SpecialWeekday, length: u8, first: u8) -> u32 {
    let (weekday, nth) = match special {
        SpecialWeekday::Nth { weekday, nth } => (weekday, Some(nth)),
        SpecialWeekday::Last { weekday } => (weekday, None),
    };
    let earliest = 1 + (weekday + 7 - first) % 7;
    let day = match nth {
        Some(nth) => earliest + 7 * (nth - 1),
        None => earliest + (length - earliest) / 7 * 7,
    };
    if day <= length { 1 << day } else { 0 }
}
