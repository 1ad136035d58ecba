//! Matches the days of a calendar, month by month, as bit sets.

use crate::civil::{Date, Day, YEAR_MAX, YEAR_MIN, days_in_month, is_leap_year};
use crate::definition::{SpecialDay, SpecialWeekday};

/// 2000-01-01 and 2100-12-31.
const DAY_MIN: Day = Day(10_957);
const DAY_MAX: Day = Day(47_846);

const ALL_DAYS: u32 = !1;
const ALL_MONTHS: u16 = 0b1_1111_1111_1110;
pub(super) const ALL_YEARS: [u64; 2] = [!0, (1 << (YEAR_MAX - YEAR_MIN - 63)) - 1];

const YEARS: usize = (YEAR_MAX - YEAR_MIN + 1) as usize;

const WEEKDAYS: usize = 7;

/// A year begins on one of seven weekdays, and is a leap year or not.
const YEAR_KINDS: usize = 14;

/// The days of a calendar expression. A month's matching days are the AND of three 31-bit sets.
///
/// The months with a matching day are precomputed for each kind of year. So a search examines at most two
/// months: the one it begins in, and the next with a match. A matcher that never matches has no years.
#[derive(Clone, Debug)]
pub(crate) struct DayMatcher {
    /// Bits 1–31.
    days_of_month: u32,
    /// Bits 0–6, Sunday first.
    weekdays: u8,
    /// For each [kind of year](YEAR_KINDS), the months that have a matching day: bits 1–12.
    months: [u16; YEAR_KINDS],
    /// The years that have a matching day: bit n is the year 2000 + n.
    years: [u64; 2],
    /// `L`, `W` and `#`, for the few that use them.
    special: Option<Box<SpecialDays>>,
    /// Whether only the weekday matters, which is the common case. Then no dates are computed.
    is_weekly: bool,
}

/// Days that depend on the month's length and first weekday.
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
    /// From one bit set for each field.
    pub(crate) fn new(
        days_of_month: u32,
        weekdays: u8,
        months: u16,
        years: [u64; 2],
        special: Option<Box<SpecialDays>>,
    ) -> Self {
        let is_weekly = (days_of_month, months, years) == (ALL_DAYS, ALL_MONTHS, ALL_YEARS)
            && weekdays != 0
            && special.is_none();
        let months = [months; YEAR_KINDS];
        let mut days = DayMatcher { days_of_month, weekdays, months, years, special, is_weekly };
        if !is_weekly {
            days.drop_months_without_a_match();
        }
        days
    }

    fn drop_months_without_a_match(&mut self) {
        const EVERY_MONTH_HAS: u32 = (1 << 29) - 2;
        let any_day = self.days_of_month == ALL_DAYS;
        let any_weekday = self.weekdays == (1 << WEEKDAYS) - 1;
        let every_month_has_one = any_day && self.weekdays != 0
            || any_weekday && self.days_of_month & EVERY_MONTH_HAS != 0;
        if every_month_has_one && self.months[0] != 0 {
            return;
        }
        // Whether a month has one depends on its length and first weekday alone.
        for (months_alike, length) in MONTHS_ALIKE.iter().zip(28..) {
            for (months_alike, first_weekday) in months_alike.iter().zip(0..) {
                if self.days_of(length, first_weekday) == 0 {
                    for (months, alike) in self.months.iter_mut().zip(months_alike) {
                        *months &= !alike;
                    }
                }
            }
        }
        for (months, years_alike) in self.months.iter().zip(YEARS_ALIKE) {
            if *months == 0 {
                self.years[0] &= !years_alike[0];
                self.years[1] &= !years_alike[1];
            }
        }
    }

    /// The first matching day at or after `day`, and not after `until`.
    #[inline]
    pub(crate) fn next(&self, day: Day, until: Day) -> Option<Day> {
        let found = if self.is_weekly { self.next_weekday(day) } else { self.next_date(day)? };
        (found <= until.min(DAY_MAX)).then_some(found)
    }

    #[inline]
    fn next_weekday(&self, day: Day) -> Day {
        let day = day.max(DAY_MIN);
        let two_weeks = u32::from(self.weekdays) * (1 << WEEKDAYS | 1);
        Day(day.0 + (two_weeks >> day.weekday()).trailing_zeros() as i32)
    }

    #[inline]
    fn next_date(&self, day: Day) -> Option<Day> {
        let date = day.date();
        let month = Month {
            year: date.year,
            month: date.month,
            first: Day(day.0 - i32::from(date.day) + 1),
        };
        let this_month =
            if self.has_month(date) { self.days_in(month) & (!0u32 << date.day) } else { 0 };
        let (month, days) = if this_month != 0 {
            (month, this_month)
        } else {
            let following = self.following(month)?;
            (following, self.days_in(following))
        };
        Some(Day(month.first.0 + days.trailing_zeros() as i32 - 1))
    }

    pub(crate) fn matches(&self, day: Day, date: Date) -> bool {
        let first = Day(day.0 - i32::from(date.day) + 1);
        let month = Month { year: date.year, month: date.month, first };
        self.has_month(date) && self.days_in(month) & (1 << date.day) != 0
    }

    /// The first day after `day` that may not match: every day before it does. Looks no further
    /// than the month's end.
    pub(crate) fn run_end(&self, day: Day) -> Day {
        let date = day.date();
        let first = Day(day.0 - i32::from(date.day) + 1);
        let month = Month { year: date.year, month: date.month, first };
        let unmatched = !self.days_in(month) & (!0u32 << date.day);
        let length = i32::from(days_in_month(date.year, date.month));
        Day(first.0 + (unmatched.trailing_zeros() as i32 - 1).min(length))
    }

    #[inline]
    fn has_month(&self, date: Date) -> bool {
        self.months_of(date.year) & (1 << date.month) != 0
    }

    /// The months of the year that have a match.
    #[inline]
    fn months_of(&self, year: i32) -> u16 {
        if !(YEAR_MIN..=YEAR_MAX).contains(&year) {
            return 0;
        }
        let bit = (year - YEAR_MIN) as usize;
        if self.years[bit >> 6] & (1 << (bit & 63)) == 0 { 0 } else { self.months[kind_of(year)] }
    }

    /// The next month that has a match.
    #[inline]
    fn following(&self, month: Month) -> Option<Month> {
        let later = self.months_of(month.year) & (!0u16 << month.month << 1);
        let (year, months) = if later != 0 {
            (month.year, later)
        } else {
            let year = self.year_after(month.year)?;
            (year, self.months[kind_of(year)])
        };
        let found = months.trailing_zeros() as u8;
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
    fn days_in(&self, month: Month) -> u32 {
        self.days_of(days_in_month(month.year, month.month), month.first.weekday())
    }

    /// The matching days of any month of that length and first weekday.
    #[inline]
    fn days_of(&self, length: u8, first_weekday: u8) -> u32 {
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

/// The kind of a year of the calendar: its first weekday, plus seven in a leap year.
#[inline]
fn kind_of(year: i32) -> usize {
    usize::from(YEAR_KIND[(year - YEAR_MIN) as usize])
}

const YEAR_KIND: [u8; YEARS] = {
    let mut kinds = [0; YEARS];
    // 2000 began on a Saturday.
    let (mut n, mut first_weekday) = (0, 6);
    while n < YEARS {
        let leap = is_leap_year(YEAR_MIN + n as i32) as u8;
        kinds[n] = first_weekday + WEEKDAYS as u8 * leap;
        first_weekday = (first_weekday + 1 + leap) % WEEKDAYS as u8;
        n += 1;
    }
    kinds
};

/// The years of each kind, as [`DayMatcher`] has them.
const YEARS_ALIKE: [[u64; 2]; YEAR_KINDS] = {
    let mut years = [[0; 2]; YEAR_KINDS];
    let mut n = 0;
    while n < YEARS {
        years[YEAR_KIND[n] as usize][n >> 6] |= 1 << (n & 63);
        n += 1;
    }
    years
};

/// By length (from 28) and first weekday: the months like that in each kind of year.
const MONTHS_ALIKE: [[[u16; YEAR_KINDS]; WEEKDAYS]; 4] = {
    let mut alike = [[[0; YEAR_KINDS]; WEEKDAYS]; 4];
    let mut kind = 0;
    while kind < YEAR_KINDS {
        let any_such_year = if kind < WEEKDAYS { 2001 } else { 2000 };
        let (mut month, mut first_weekday) = (1, kind % WEEKDAYS);
        while month <= 12 {
            let length = days_in_month(any_such_year, month) as usize;
            alike[length - 28][first_weekday][kind] |= 1 << month;
            first_weekday = (first_weekday + length) % WEEKDAYS;
            month += 1;
        }
        kind += 1;
    }
    alike
};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks every day of every year, and asks `next` from each.
    fn check(days_of_month: u32, weekdays: u8, months: u16, years: [u64; 2]) {
        let matcher = DayMatcher::new(days_of_month, weekdays, months, years, None);
        let first = Date { year: YEAR_MIN - 1, month: 12, day: 1 }.day_number();
        let last = Date { year: YEAR_MAX + 1, month: 1, day: 31 }.day_number();
        let mut expected = None;
        for day in (first.0..=last.0).rev().map(Day) {
            let date = day.date();
            let known_year = (YEAR_MIN..=YEAR_MAX).contains(&date.year) && {
                let bit = (date.year - YEAR_MIN) as usize;
                years[bit / 64] >> (bit % 64) & 1 == 1
            };
            let by_fields = known_year
                && months >> date.month & 1 == 1
                && days_of_month >> date.day & 1 == 1
                && weekdays >> day.weekday() & 1 == 1;
            assert_eq!(matcher.matches(day, date), by_fields, "{date:?}");
            if by_fields {
                expected = Some(day);
            }
            assert_eq!(matcher.next(day, last), expected, "from {date:?}");
        }
    }

    #[test]
    fn the_next_day_is_the_first_whose_fields_all_match() {
        check(ALL_DAYS, 0x7f, ALL_MONTHS, ALL_YEARS);
        check(ALL_DAYS, 1 << 3, ALL_MONTHS, ALL_YEARS);
        check(ALL_DAYS, 1 | 1 << 6, ALL_MONTHS, ALL_YEARS);
        check(1 << 31, 0x7f, ALL_MONTHS, ALL_YEARS);
        check(1 << 29, 0x7f, 1 << 2, ALL_YEARS);
        check(1 << 29, 1 << 1, 1 << 2, ALL_YEARS);
        check(1 << 13, 1 << 5, ALL_MONTHS, ALL_YEARS);
        check(1 << 31, 1 << 3, 1 << 10 | 1 << 2, [1 << 25, 1 << 10]);
    }

    #[test]
    fn what_no_day_matches_has_no_next_day() {
        check(1 << 30, 0x7f, 1 << 2, ALL_YEARS);
        check(1 << 31, 0x7f, 1 << 4 | 1 << 6, ALL_YEARS);
        check(1 << 29, 1 << 1, 1 << 2, [1 << 26, 0]);
        check(ALL_DAYS, 0x7f, 0, ALL_YEARS);
        check(ALL_DAYS, 0, ALL_MONTHS, ALL_YEARS);
        check(0, 0x7f, ALL_MONTHS, ALL_YEARS);
        check(ALL_DAYS, 0x7f, ALL_MONTHS, [0, 0]);
    }
}
