//! The periods of a rule: `FREQ` and `INTERVAL`, counted from `DTSTART`.

use super::month::{Month, MonthDays};
use super::{Frequency, Recurrence};
use crate::civil::{Date, Day, WallSecond};

/// Every n-th year, month, week or day. Periods are computed directly, so a distant one costs no more than
/// a near one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cadence {
    unit: Unit,
    interval: i64,
    /// The period of `DTSTART`, in units since the one that 1970-01-01 is in.
    anchor: i64,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Year,
    Month,
    /// Weeks begin on this weekday; 0 is Sunday.
    Week {
        start: u8,
    },
    Day,
}

/// The days from `first` to `last`, both included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    pub(super) first: Day,
    pub(super) last: Day,
}

impl Cadence {
    pub(super) fn new(rule: &Recurrence) -> Self {
        let interval = i64::from(rule.interval);
        let (unit, interval) = match rule.frequency {
            Frequency::Yearly => (Unit::Year, interval),
            Frequency::Monthly => (Unit::Month, interval),
            Frequency::Weekly => {
                let start = rule.week_start.to_sunday_zero_offset().unsigned_abs();
                (Unit::Week { start }, interval)
            }
            Frequency::Daily => (Unit::Day, interval),
            // Shorter frequencies count their intervals across days: any day may have a time.
            Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => (Unit::Day, 1),
        };
        Cadence { unit, interval, anchor: unit.index(WallSecond::from(rule.anchor()).split().0) }
    }

    /// The days of `month` that belong to a period of the rule.
    pub(super) fn days_in(&self, month: Month) -> MonthDays {
        if self.interval == 1 {
            return month.all_days();
        }
        match self.unit {
            Unit::Year | Unit::Month => {
                if self.counts(self.unit.index(month.first)) {
                    month.all_days()
                } else {
                    0
                }
            }
            Unit::Week { .. } => {
                let (first, last) = (self.unit.index(month.first), self.unit.index(month.last()));
                let mut days = 0;
                for week in (first..=last).filter(|week| self.counts(*week)) {
                    let Period { first, last } = self.unit.period(week);
                    days |= month.days_from(first) & !month.days_from(Day(last.0 + 1));
                }
                days
            }
            Unit::Day => {
                let first = i64::from(month.first.0);
                let passed = (self.anchor - first).rem_euclid(self.interval);
                (passed..i64::from(month.length))
                    .step_by(usize::try_from(self.interval).unwrap_or(usize::MAX))
                    .fold(0, |days, passed| days | 2 << passed)
            }
        }
    }

    /// The first period of the rule that ends on `day` or later; `None` if it begins after
    /// `last_day`.
    pub(super) fn period_at_or_after(&self, day: Day, last_day: Day) -> Option<Period> {
        let passed = self.unit.index(day) - self.anchor;
        let index = self.anchor + passed + (-passed).rem_euclid(self.interval);
        // Compared as numbers first: a large INTERVAL leads past any date there is.
        (index <= self.unit.index(last_day)).then(|| self.unit.period(index))
    }

    fn counts(&self, index: i64) -> bool {
        (index - self.anchor).rem_euclid(self.interval) == 0
    }
}

impl Unit {
    fn index(self, day: Day) -> i64 {
        match self {
            Unit::Year => i64::from(day.date().year) - 1970,
            Unit::Month => {
                let date = day.date();
                (i64::from(date.year) - 1970) * 12 + i64::from(date.month) - 1
            }
            Unit::Week { start } => (i64::from(day.0) + 4 - i64::from(start)).div_euclid(7),
            Unit::Day => i64::from(day.0),
        }
    }

    fn period(self, index: i64) -> Period {
        match self {
            Unit::Year => {
                let year = 1970 + index as i32;
                Period {
                    first: Date { year, month: 1, day: 1 }.day_number(),
                    last: Date { year, month: 12, day: 31 }.day_number(),
                }
            }
            Unit::Month => {
                let year = 1970 + index.div_euclid(12) as i32;
                let month = index.rem_euclid(12) as u8 + 1;
                let month = Month::of(Date { year, month, day: 1 }.day_number());
                Period { first: month.first, last: month.last() }
            }
            Unit::Week { start } => {
                let first = index as i32 * 7 - 4 + i32::from(start);
                Period { first: Day(first), last: Day(first + 6) }
            }
            Unit::Day => Period { first: Day(index as i32), last: Day(index as i32) },
        }
    }
}
