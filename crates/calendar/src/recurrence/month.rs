//! A month of a year: days are searched month by month.

use crate::civil::{Date, Day, days_in_month, is_leap_year};

#[derive(Clone, Copy, Debug)]
pub(super) struct Month {
    pub(super) year: i32,
    /// 1–12.
    pub(super) month: u8,
    pub(super) first: Day,
    /// In days.
    pub(super) length: u8,
}

/// Days of one month: bit 1 is its first day.
pub(super) type MonthDays = u32;

impl Month {
    pub(super) fn of(day: Day) -> Month {
        let Date { year, month, day: day_of_month } = day.date();
        let first = Day(day.0 - i32::from(day_of_month) + 1);
        Month { year, month, first, length: days_in_month(year, month) }
    }

    pub(super) fn following(self) -> Month {
        let first = Day(self.first.0 + i32::from(self.length));
        let (year, month) =
            if self.month == 12 { (self.year + 1, 1) } else { (self.year, self.month + 1) };
        Month { year, month, first, length: days_in_month(year, month) }
    }

    pub(super) fn last(self) -> Day {
        Day(self.first.0 + i32::from(self.length) - 1)
    }

    /// `day_of_month` counts from 1.
    pub(super) fn day(self, day_of_month: u8) -> Day {
        Day(self.first.0 + i32::from(day_of_month) - 1)
    }

    pub(super) fn all_days(self) -> MonthDays {
        (MonthDays::MAX >> (31 - self.length)) & !1
    }

    /// The days from `day` on, which may lie outside.
    pub(super) fn days_from(self, day: Day) -> MonthDays {
        match day.0 - self.first.0 {
            ..=0 => self.all_days(),
            passed if passed >= i32::from(self.length) => 0,
            passed => self.all_days() & (!0 << (passed + 1)),
        }
    }

    /// The days that fall on one of `weekdays` (bit 0 is Sunday).
    pub(super) fn days_on(self, weekdays: u8) -> MonthDays {
        let first = self.first.weekday();
        let weekdays = u64::from(weekdays);
        let from_first = ((weekdays | weekdays << 7) >> first) & 0x7f;
        // Repeats the seven bits for the five weeks that a month may have.
        let weeks = from_first * 0x1020_4081;
        (weeks << 1) as MonthDays & self.all_days()
    }
}

/// The year a day is in, its length, and which day of it (from 1) that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct YearDay {
    pub(super) day: u16,
    pub(super) year_length: u16,
}

impl YearDay {
    pub(super) fn of(day: Day, year: i32) -> YearDay {
        let new_year = Date { year, month: 1, day: 1 }.day_number();
        YearDay {
            day: (day.0 - new_year.0 + 1) as u16,
            year_length: 365 + u16::from(is_leap_year(year)),
        }
    }
}
