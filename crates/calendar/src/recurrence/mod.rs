//! iCalendar recurrence rules: `DTSTART` and `RRULE` of RFC 5545, on the wall clock.
//!
//! Nothing here knows a zone or an instant: a rule is read by `parse`, compiled to masks by
//! `compiled`, and asked for its next wall-clock second. Zones, DST, `COUNT` and an `UNTIL` that is
//! an instant are handled where those seconds become instants. Start reading at [`Recurrence`],
//! then `compiled`.

mod cadence;
mod compiled;
mod date_time;
mod days;
mod display;
mod month;
mod parse;
mod parts;
mod rule;
mod set_positions;
mod signed_positions;
mod steps;
mod sub_daily;
mod times;
mod values;

#[cfg(test)]
mod bounds_test;
#[cfg(test)]
mod definition_test;
#[cfg(test)]
mod parse_test;
#[cfg(test)]
mod property_test;
#[cfg(test)]
mod rfc_examples_test;

use jiff::Timestamp;
use jiff::civil::{DateTime, Weekday};

pub(crate) use compiled::CompiledRecurrence;
pub(crate) use parse::parse;

/// A recurrence rule with its anchor, in canonical form: lists are sorted and without repetitions,
/// and what has its default value is left out. It displays as text that reads back as itself:
///
/// ```
/// use perennial_calendar::{Definition, Dialect};
/// let text = "RRULE:BYDAY=we,mo;INTERVAL=2;FREQ=WEEKLY;WKST=MO DTSTART:20260105T090000";
/// let rule = &Definition::read(&[text], Dialect::Temporal)?.recurrences[0];
/// let canonical = "DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE";
/// assert_eq!(rule.to_string(), canonical);
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
///
/// Made only by reading text, so every value is in the range RFC 5545 gives it and no part stands
/// with a `FREQ` that forbids it. `DTSTART` is where `INTERVAL` counts from, and where whatever the
/// rule does not say is taken from (hour, minute, second, day); it is a time of the rule only if it
/// matches it. Without one, the rule counts from 1970-01-01T00:00:00.
///
/// Times are those from 1970 to 2100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    dtstart: Option<DateTime>,
    frequency: Frequency,
    interval: u32,
    end: End,
    /// Boxed for its size: a definition is moved about a good deal, and most lists are empty.
    by: Box<ByParts>,
    week_start: Weekday,
}

/// `FREQ`: the length of the period that `INTERVAL` counts and `BYSETPOS` chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the word RFC 5545 uses")]
pub enum Frequency {
    Secondly,
    Minutely,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// `UNTIL`: the last time that may match (inclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// `UNTIL=20261224T000000`, or a date, which is the first second of that day.
    Wall(DateTime),
    /// `UNTIL=20261224T000000Z`, in whole seconds.
    Instant(Timestamp),
}

/// One entry of `BYDAY`: every such weekday, or the nth one of the month or year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeekdayNum {
    /// 1 is the first, -1 the last; never 0. Counted within the month, or within the year if `FREQ`
    /// is `YEARLY` and there is no `BYMONTH`. `None` for every one.
    pub nth: Option<i8>,
    /// The weekday.
    pub weekday: Weekday,
}

/// How a rule ends. RFC 5545 forbids `COUNT` and `UNTIL` together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Never,
    Count(u32),
    Until(Until),
}

/// The `BYxxx` lists; an empty one was not given. Positive numbers come first, then negative ones,
/// each ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByParts {
    month: Vec<u8>,
    week_no: Vec<i8>,
    year_day: Vec<i16>,
    month_day: Vec<i8>,
    day: Vec<WeekdayNum>,
    hour: Vec<u8>,
    minute: Vec<u8>,
    second: Vec<u8>,
    set_pos: Vec<i16>,
}

impl Recurrence {
    /// `DTSTART` on the wall clock, if there was one.
    pub fn dtstart(&self) -> Option<DateTime> {
        self.dtstart
    }

    /// `FREQ`.
    pub fn frequency(&self) -> Frequency {
        self.frequency
    }

    /// `INTERVAL`, 1 if it was not given.
    pub fn interval(&self) -> u32 {
        self.interval
    }

    /// `COUNT`, from 1 to 100,000. Then there is no [`until`](Self::until).
    pub fn count(&self) -> Option<u32> {
        match self.end {
            End::Count(count) => Some(count),
            End::Never | End::Until(_) => None,
        }
    }

    /// `UNTIL`. Then there is no [`count`](Self::count).
    pub fn until(&self) -> Option<Until> {
        match self.end {
            End::Until(until) => Some(until),
            End::Never | End::Count(_) => None,
        }
    }

    /// `BYMONTH`: 1–12.
    pub fn by_month(&self) -> &[u8] {
        &self.by.month
    }

    /// `BYWEEKNO`: 1–53, or -53 to -1 counted from the last week. Only with `YEARLY`.
    pub fn by_week_no(&self) -> &[i8] {
        &self.by.week_no
    }

    /// `BYYEARDAY`: 1–366, or -366 to -1 counted from the last day.
    pub fn by_year_day(&self) -> &[i16] {
        &self.by.year_day
    }

    /// `BYMONTHDAY`: 1–31, or -31 to -1 counted from the last day.
    pub fn by_month_day(&self) -> &[i8] {
        &self.by.month_day
    }

    /// `BYDAY`: those without a number first, then counted from the first, then from the last.
    pub fn by_day(&self) -> &[WeekdayNum] {
        &self.by.day
    }

    /// `BYHOUR`: 0–23.
    pub fn by_hour(&self) -> &[u8] {
        &self.by.hour
    }

    /// `BYMINUTE`: 0–59.
    pub fn by_minute(&self) -> &[u8] {
        &self.by.minute
    }

    /// `BYSECOND`: 0–60. 60 is a leap second, which no wall clock of ours ever shows.
    pub fn by_second(&self) -> &[u8] {
        &self.by.second
    }

    /// `BYSETPOS`: which times of each period, 1–366, or -366 to -1 counted from the last.
    pub fn by_set_pos(&self) -> &[i16] {
        &self.by.set_pos
    }

    /// `WKST`: the day on which a week begins, Monday if it was not given.
    pub fn week_start(&self) -> Weekday {
        self.week_start
    }

    /// The rule with everything precomputed that its next time is found by.
    pub(crate) fn compile(&self) -> CompiledRecurrence {
        CompiledRecurrence::new(self)
    }

    /// The start, from which `INTERVAL` counts.
    fn anchor(&self) -> DateTime {
        self.dtstart.unwrap_or(DateTime::constant(1970, 1, 1, 0, 0, 0, 0))
    }
}

impl Frequency {
    const ALL: [Frequency; 7] = [
        Frequency::Secondly,
        Frequency::Minutely,
        Frequency::Hourly,
        Frequency::Daily,
        Frequency::Weekly,
        Frequency::Monthly,
        Frequency::Yearly,
    ];

    /// As RFC 5545 writes it: `SECONDLY` to `YEARLY`.
    pub fn name(self) -> &'static str {
        match self {
            Frequency::Secondly => "SECONDLY",
            Frequency::Minutely => "MINUTELY",
            Frequency::Hourly => "HOURLY",
            Frequency::Daily => "DAILY",
            Frequency::Weekly => "WEEKLY",
            Frequency::Monthly => "MONTHLY",
            Frequency::Yearly => "YEARLY",
        }
    }
}
