//! Local dates and times as plain integers, without a time zone.

/// A local time: seconds since the local 1970-01-01T00:00:00. A [`Zone`](crate::Zone) with its offsets
/// converts it to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WallSecond(pub(crate) i64);

/// A day of the proleptic Gregorian calendar: days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(pub(crate) i32);

/// Year, month (1–12) and day of the month (1–31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    pub(crate) year: i32,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

/// The first and last year that calendars know, as Temporal has them.
pub(crate) const YEAR_MIN: i32 = 2000;
pub(crate) const YEAR_MAX: i32 = 2100;

/// The years in which a part that names its own start may begin.
pub(crate) const START_YEARS: std::ops::RangeInclusive<i16> = 1970..=YEAR_MAX as i16;

impl WallSecond {
    pub(crate) fn new(day: Day, second_of_day: u32) -> Self {
        WallSecond(i64::from(day.0) * SECONDS_PER_DAY + i64::from(second_of_day))
    }

    /// The day it is on, and the second of that day (0–86,399).
    pub(crate) fn split(self) -> (Day, u32) {
        let day = self.0.div_euclid(SECONDS_PER_DAY);
        (Day(day as i32), self.0.rem_euclid(SECONDS_PER_DAY) as u32)
    }

    /// Converts to jiff's type.
    pub(crate) fn civil(self) -> jiff::civil::DateTime {
        let (day, second) = self.split();
        let date = day.date();
        let time = [second / 3600, second / 60 % 60, second % 60].map(|part| part as i8);
        jiff::civil::DateTime::new(
            date.year.clamp(-9999, 9999) as i16,
            date.month as i8,
            date.day as i8,
            time[0],
            time[1],
            time[2],
            0,
        )
        .unwrap_or(jiff::civil::DateTime::MAX)
    }
}

impl From<jiff::civil::DateTime> for WallSecond {
    fn from(time: jiff::civil::DateTime) -> Self {
        let date =
            Date { year: time.year().into(), month: time.month() as u8, day: time.day() as u8 };
        let [hour, minute, second] =
            [time.hour(), time.minute(), time.second()].map(|part| u32::from(part.unsigned_abs()));
        WallSecond::new(date.day_number(), hour * 3600 + minute * 60 + second)
    }
}

// Date arithmetic after Neri and Schneider, "Euclidean affine functions and their application to
// calendar algorithms" (2022): no branches, no tables, a handful of multiplications. Years are
// shifted by whole 400-year cycles so that every intermediate is unsigned.
const CYCLES: u32 = 82;
const DAY_SHIFT: u32 = 719_468 + 146_097 * CYCLES;
const YEAR_SHIFT: u32 = 400 * CYCLES;

impl Day {
    pub(crate) fn date(self) -> Date {
        let n = (self.0 as u32).wrapping_add(DAY_SHIFT);
        let n1 = 4 * n + 3;
        let century = n1 / 146_097;
        let day_of_century = n1 % 146_097 / 4;
        let p = 2_939_745 * u64::from(4 * day_of_century + 3);
        let year_of_century = (p >> 32) as u32;
        // Years begin in March here, so that the leap day is the last day of one.
        let day_of_year = (p as u32) / 2_939_745 / 4;
        let n3 = 2_141 * day_of_year + 197_913;
        let month = n3 >> 16;
        let day = (n3 & 0xffff) / 2_141 + 1;
        let next_year = day_of_year >= 306;
        Date {
            year: (100 * century + year_of_century + u32::from(next_year)).wrapping_sub(YEAR_SHIFT)
                as i32,
            month: (if next_year { month - 12 } else { month }) as u8,
            day: day as u8,
        }
    }

    /// 0 is Sunday.
    pub(crate) fn weekday(self) -> u8 {
        // 1970-01-01 was a Thursday.
        (self.0 + 4).rem_euclid(7) as u8
    }
}

impl Date {
    pub(crate) fn day_number(self) -> Day {
        let early = u32::from(self.month <= 2);
        let year = (self.year as u32).wrapping_add(YEAR_SHIFT) - early;
        let month = u32::from(self.month) + 12 * early;
        let century = year / 100;
        let days_of_years = 1_461 * u64::from(year) / 4;
        let days_of_months = (979 * month - 2_919) / 32;
        let n =
            (days_of_years as u32) - century + century / 4 + days_of_months + u32::from(self.day)
                - 1;
        Day(n.wrapping_sub(DAY_SHIFT) as i32)
    }
}

pub(crate) const fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(crate) const fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        2 => 28 + is_leap_year(year) as u8,
        _ => 30 + ((month ^ (month >> 3)) & 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_from_1900_to_2200_agrees_with_jiff_both_ways() {
        let mut date = jiff::civil::date(1900, 1, 1);
        let epoch = jiff::civil::date(1970, 1, 1);
        while date.year() < 2200 {
            let number = Day((date - epoch).get_days());
            let expected =
                Date { year: date.year().into(), month: date.month() as u8, day: date.day() as u8 };
            assert_eq!(number.date(), expected);
            assert_eq!(expected.day_number(), number);
            assert_eq!(number.weekday(), date.weekday().to_sunday_zero_offset() as u8, "{date}");
            assert_eq!(
                days_in_month(expected.year, expected.month),
                date.days_in_month() as u8,
                "{date}"
            );
            date = date.tomorrow().unwrap();
        }
    }

    #[test]
    fn wall_seconds_before_1970_split_downwards() {
        assert_eq!(WallSecond(-1).split(), (Day(-1), 86_399));
        assert_eq!(WallSecond::new(Day(-1), 86_399), WallSecond(-1));
    }
}
