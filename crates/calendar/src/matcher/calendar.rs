//! A calendar expression as bit sets, one for each field.

use super::days::{ALL_YEARS, DayMatcher, SpecialDays};
use crate::civil::{Date, Day, WallSecond, YEAR_MAX, YEAR_MIN};
use crate::definition::{Calendar, FieldRange};
use crate::error::Error;

const COMMENT_BYTES_MAX: usize = 200;
/// Every second of a minute, or minute of an hour.
pub(crate) const ALL_SIXTY: u64 = (1 << 60) - 1;
const ALL_HOURS: u32 = (1 << 24) - 1;

/// A [`Calendar`] compiled. Made by [`compile`](Self::compile), which checks every value, so the
/// searches below never meet a value out of range.
#[derive(Clone, Debug)]
pub(crate) struct CalendarMatcher {
    seconds: u64,
    minutes: u64,
    hours: u32,
    /// The earliest matching second of a day; meaningless if `is_empty`.
    first_second_of_day: u32,
    is_empty: bool,
    days: DayMatcher,
}

impl CalendarMatcher {
    pub(crate) fn compile(calendar: &Calendar) -> Result<Self, Error> {
        if calendar.comment.len() > COMMENT_BYTES_MAX {
            return Err(Error::Invalid {
                field: "comment".to_owned(),
                problem: format!(
                    "has {} bytes; at most {COMMENT_BYTES_MAX} are allowed",
                    calendar.comment.len()
                ),
            });
        }
        let seconds = bits("second", &calendar.second, 0, 59)?;
        let minutes = bits("minute", &calendar.minute, 0, 59)?;
        let hours = bits("hour", &calendar.hour, 0, 23)? as u32;
        let special = if calendar.is_structured() {
            None
        } else {
            check_special(calendar)?;
            Some(Box::new(SpecialDays {
                days: calendar.special_days.clone(),
                weekdays: calendar.special_weekdays.clone(),
            }))
        };
        let days = DayMatcher::new(
            bits("day of month", &calendar.day_of_month, 1, 31)? as u32,
            bits("day of week", &calendar.day_of_week, 0, 6)? as u8,
            bits("month", &calendar.month, 1, 12)? as u16,
            years(&calendar.year)?,
            special,
        );
        let first_second_of_day = hours.trailing_zeros().min(23) * 3600
            + minutes.trailing_zeros().min(59) * 60
            + seconds.trailing_zeros().min(59);
        let is_empty = hours == 0 || minutes == 0 || seconds == 0;
        Ok(CalendarMatcher { seconds, minutes, hours, first_second_of_day, is_empty, days })
    }

    /// The first match at or after `from`, looking no further than `until`'s day.
    #[inline]
    pub(crate) fn next(&self, from: WallSecond, until: WallSecond) -> Option<WallSecond> {
        if self.is_empty {
            return None;
        }
        let (day, second_of_day) = from.split();
        let (until, _) = until.split();
        let Some(today) = self.next_second_of_day(second_of_day) else {
            let found = self.days.next(Day(day.0 + 1), until)?;
            return Some(WallSecond::new(found, self.first_second_of_day));
        };
        let found = self.days.next(day, until)?;
        let second_of_day = if found == day { today } else { self.first_second_of_day };
        Some(WallSecond::new(found, second_of_day))
    }

    #[inline]
    fn next_second_of_day(&self, from: u32) -> Option<u32> {
        let (hour, minute, second) = (from / 3600, from / 60 % 60, from % 60);
        if self.hours & (1 << hour) != 0 {
            if self.minutes & (1 << minute) != 0 {
                let seconds = self.seconds & (!0 << second);
                if seconds != 0 {
                    return Some(hour * 3600 + minute * 60 + seconds.trailing_zeros());
                }
            }
            let minutes = self.minutes & (!0 << minute << 1);
            if minutes != 0 {
                let first_second = self.first_second_of_day % 60;
                return Some(hour * 3600 + minutes.trailing_zeros() * 60 + first_second);
            }
        }
        let hours = self.hours & (!0 << hour << 1);
        let within_hour = self.first_second_of_day % 3600;
        (hours != 0).then(|| hours.trailing_zeros() * 3600 + within_hour)
    }

    pub(crate) fn matches(&self, day: Day, date: Date, second_of_day: u32) -> bool {
        self.matches_time(second_of_day) && self.days.matches(day, date)
    }

    pub(crate) fn matches_day(&self, day: Day, date: Date) -> bool {
        self.days.matches(day, date)
    }

    /// The seconds (bits 0–59) that match in a minute of the day (0–1,439).
    pub(crate) fn seconds_of(&self, minute: u32) -> u64 {
        let matches =
            self.hours & (1 << (minute / 60)) != 0 && self.minutes & (1 << (minute % 60)) != 0;
        if matches { self.seconds } else { 0 }
    }

    fn matches_time(&self, second_of_day: u32) -> bool {
        let (hour, minute, second) =
            (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
        self.hours & (1 << hour) != 0
            && self.minutes & (1 << minute) != 0
            && self.seconds & (1 << second) != 0
    }

    /// For a wall second that matches: a later one such that every second between matches too. It
    /// is what lets a search step over an excluded hour, day or month at once.
    pub(crate) fn run_end(&self, wall: WallSecond) -> WallSecond {
        let (day, second_of_day) = wall.split();
        let (hour, minute, second) =
            (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
        if self.seconds != ALL_SIXTY {
            let unmatched = !self.seconds & (!0 << second);
            return WallSecond(
                wall.0 - i64::from(second) + i64::from(unmatched.trailing_zeros().min(60)),
            );
        }
        if self.minutes != ALL_SIXTY {
            let unmatched = !self.minutes & (!0 << minute);
            let minute = unmatched.trailing_zeros().min(60);
            return WallSecond::new(day, hour * 3600 + minute * 60);
        }
        if self.hours != ALL_HOURS {
            let unmatched = !self.hours & (!0 << hour);
            return WallSecond::new(day, unmatched.trailing_zeros().min(24) * 3600);
        }
        WallSecond::new(self.days.run_end(day), 0)
    }
}

fn bits(field: &'static str, ranges: &[FieldRange], min: u16, max: u16) -> Result<u64, Error> {
    let mut set = 0u64;
    for range in ranges {
        check_range(field, *range, min, max)?;
        if range.step == 1 {
            set |= (!0u64 >> (63 - range.end)) & (!0u64 << range.start);
        } else {
            for value in range.values() {
                set |= 1 << value;
            }
        }
    }
    Ok(set)
}

fn years(ranges: &[FieldRange]) -> Result<[u64; 2], Error> {
    if ranges.is_empty() {
        return Ok(ALL_YEARS);
    }
    let mut set = [0u64; 2];
    for range in ranges {
        check_range("year", *range, YEAR_MIN as u16, YEAR_MAX as u16)?;
        for value in range.values() {
            let bit = usize::from(value) - YEAR_MIN as usize;
            set[bit >> 6] |= 1 << (bit & 63);
        }
    }
    Ok(set)
}

fn check_range(field: &str, range: FieldRange, min: u16, max: u16) -> Result<(), Error> {
    let invalid = |problem: String| Err(Error::Invalid { field: field.to_owned(), problem });
    if range.start < min || range.end > max {
        return invalid(format!("{}–{} is not within {min}–{max}", range.start, range.end));
    }
    if range.end < range.start {
        return invalid(format!("range ends at {} before it starts at {}", range.end, range.start));
    }
    if range.step == 0 {
        return invalid("has a step of 0; the least is 1".to_owned());
    }
    Ok(())
}

fn check_special(calendar: &Calendar) -> Result<(), Error> {
    use crate::definition::{SpecialDay, SpecialWeekday};
    let invalid =
        |field: &str, problem: String| Err(Error::Invalid { field: field.to_owned(), problem });
    for day in &calendar.special_days {
        match *day {
            SpecialDay::BeforeLast(before) if before > 30 => {
                return invalid("day of month", format!("L-{before} is before every month"));
            }
            SpecialDay::NearestWeekday(day) if !(1..=31).contains(&day) => {
                return invalid("day of month", format!("{day}W is not within 1–31"));
            }
            SpecialDay::BeforeLast(_) | SpecialDay::NearestWeekday(_) | SpecialDay::LastWeekday => {
            }
        }
    }
    for weekday in &calendar.special_weekdays {
        let (weekday, nth) = match *weekday {
            SpecialWeekday::Nth { weekday, nth } => (weekday, nth),
            SpecialWeekday::Last { weekday } => (weekday, 1),
        };
        if weekday > 6 || !(1..=5).contains(&nth) {
            return invalid("day of week", format!("{weekday}#{nth} is not within 0–6 and 1–5"));
        }
    }
    Ok(())
}
