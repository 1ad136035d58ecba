//! Repeats anchored at a date of their own, written as ISO 8601 repeating intervals:
//! `R/2026-01-31T09:00/P1M`.

use std::fmt;

use jiff::civil::DateTime;

use crate::civil::{Date, Day, SECONDS_PER_DAY, START_YEARS, WallSecond, YEAR_MAX, days_in_month};
use crate::compile::INTERVAL_SECONDS_MAX;
use crate::error::Fault;

/// The longest periods: no two times of a longer one fall within 1970–2100.
pub(crate) const DAYS_MAX: u32 = 50_000;
pub(crate) const MONTHS_MAX: u32 = 1_600;

/// Every n days, months or seconds, from a date in the spec's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The first time.
    pub start: DateTime,
    /// The distance to the next.
    pub every: Period,
    /// Number of repetitions; `None` for ever. In civil units a date counts even if its time is skipped by a
    /// clock change.
    pub count: Option<u32>,
}

/// The distance between two times of a [`Repeat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Civil days (`P2D`, `P1W`): the same time of day whatever the clock does in between.
    Days(u32),
    /// Civil months (`P1M`, `P1Y`): the same day of the month, or the last one of a shorter month.
    Months(u32),
    /// Exact seconds (`PT36H`), counted from the instant of the start.
    Seconds(u64),
}

/// Whether a text begins like `R/…` or `R5/…`.
pub(crate) fn looks_like(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['R', 'r']) else { return false };
    rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('/')
}

/// Reads `R[n]/<start>/<duration>`; also gives the `Z` of a start in UTC.
pub(crate) fn parse(text: &str) -> Result<(Repeat, Option<&str>), Fault<'_>> {
    const HELP: &str = "write R/<start>/<duration>, such as R/2026-01-31T09:00/P1M";
    let mut parts = text.splitn(3, '/');
    let (Some(head), Some(start), Some(every)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(Fault::new(text, "a repeating interval has three parts").help(HELP));
    };
    let count = match head.get(1..).unwrap_or_default() {
        "" => None,
        digits => match digits.parse::<u32>() {
            Ok(count @ 1..) => Some(count),
            _ => {
                return Err(Fault::new(
                    digits,
                    format!("{digits} is not a number of times from 1 up"),
                ));
            }
        },
    };
    let (civil, zone) = match start.strip_suffix(['Z', 'z']) {
        Some(civil) => (civil, Some(&start[civil.len()..])),
        None => (start, None),
    };
    let Ok(civil_start) = civil.parse::<DateTime>() else {
        return Err(Fault::new(start, format!("{start:?} is not a date and time")).help(HELP));
    };
    let has_offset = civil.get(10..).is_some_and(|time| time.contains(['+', '-', '[']));
    if civil_start.subsec_nanosecond() != 0 || has_offset {
        return Err(Fault::new(start, "the start is a local time in whole seconds, or UTC with Z")
            .help(HELP));
    }
    if !START_YEARS.contains(&civil_start.year()) {
        return Err(Fault::new(
            start,
            format!("the year {} is not within 1970–2100", civil_start.year()),
        ));
    }
    let every = parse_period(every)?;
    Ok((Repeat { start: civil_start, every, count }, zone))
}

fn parse_period(text: &str) -> Result<Period, Fault<'_>> {
    let Ok(span) = text.parse::<jiff::Span>() else {
        return Err(Fault::new(text, format!("{text:?} is not a duration"))
            .help("write P1D, P2W, P1M, P1Y or PT36H"));
    };
    let months = i64::from(span.get_years()) * 12 + i64::from(span.get_months());
    let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
    let exact = span.years(0).months(0).weeks(0).days(0);
    let fault = |message: String| Err(Fault::new(text, message));
    if exact.is_zero() {
        let within = |count: i64, max: u32| match u32::try_from(count) {
            Ok(count) if count <= max => Ok(count),
            _ => Err(Fault::new(text, format!("{text} is longer than the calendar"))
                .help("years end with 2100")),
        };
        return match (months, days) {
            (0, 0) => fault(format!("{text} has no length")),
            (1.., 0) => within(months, MONTHS_MAX).map(Period::Months),
            (0, 1..) => within(days, DAYS_MAX).map(Period::Days),
            _ if months < 0 || days < 0 => fault(format!("the duration {text} is negative")),
            _ => fault("months and days cannot be mixed in one repeat".to_owned()),
        };
    }
    if months != 0 || days != 0 {
        return Err(Fault::new(text, "civil and exact units cannot be mixed in one repeat")
            .help("P1D is a day on the clock, PT24H is 24 hours"));
    }
    match crate::parse::duration::whole_seconds(text)? {
        0 => fault(format!("{text} has no length")),
        seconds @ 1..=INTERVAL_SECONDS_MAX => Ok(Period::Seconds(seconds)),
        _ => fault(format!("{text} is longer than the calendar")),
    }
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("R")?;
        if let Some(count) = self.count {
            write!(f, "{count}")?;
        }
        write!(f, "/{}/{}", self.start, self.every)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Period::Days(days) => write!(f, "P{days}D"),
            Period::Months(months) if months % 12 == 0 => write!(f, "P{}Y", months / 12),
            Period::Months(months) => write!(f, "P{months}M"),
            Period::Seconds(seconds) => write!(f, "PT{seconds}S"),
        }
    }
}

/// A compiled [`Repeat`] in civil units. A date in a gap counts too. Otherwise `R1/…` would fire on another
/// day than its start.
#[derive(Clone, Debug)]
pub(crate) struct CivilRepeat {
    start: WallSecond,
    date: Date,
    every: CivilPeriod,
    count: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CivilPeriod {
    Days(u32),
    Months(u32),
}

impl CivilRepeat {
    pub(crate) fn new(start: DateTime, every: CivilPeriod, count: Option<u32>) -> Self {
        let start = WallSecond::from(start);
        CivilRepeat { start, date: start.split().0.date(), every, count }
    }

    /// The one time of day it has.
    pub(crate) fn second_of_day(&self) -> u32 {
        self.start.split().1
    }

    /// The first time at or after `from`.
    pub(crate) fn next(&self, from: WallSecond) -> Option<WallSecond> {
        let (first_day, second_of_day) = self.start.split();
        let behind = (from.0 - self.start.0).max(0);
        let nth = match self.every {
            CivilPeriod::Days(days) => {
                let step = i64::from(days) * SECONDS_PER_DAY;
                (behind + step - 1) / step
            }
            CivilPeriod::Months(months) => {
                let reached = from.max(self.start).split().0.date();
                let months_behind = i64::from(reached.year - self.date.year) * 12
                    + i64::from(reached.month)
                    - i64::from(self.date.month);
                let nth = months_behind / i64::from(months);
                // The candidate of this month may have passed, or its month not yet be reached.
                if self.nth(nth, first_day, second_of_day)? < from { nth + 1 } else { nth }
            }
        };
        if self.count.is_some_and(|count| nth >= i64::from(count)) {
            return None;
        }
        self.nth(nth, first_day, second_of_day)
    }

    /// `None` beyond the calendar's last year.
    fn nth(&self, nth: i64, first_day: Day, second_of_day: u32) -> Option<WallSecond> {
        let day = match self.every {
            CivilPeriod::Days(days) => {
                let day = i64::from(first_day.0) + nth.checked_mul(i64::from(days))?;
                Day(i32::try_from(day).ok()?)
            }
            CivilPeriod::Months(months) => {
                let month = i64::from(self.date.month) - 1 + nth.checked_mul(i64::from(months))?;
                let year = i64::from(self.date.year) + month / 12;
                let (year, month) = (i32::try_from(year).ok()?, (month % 12 + 1) as u8);
                if year > YEAR_MAX {
                    return None;
                }
                let day = self.date.day.min(days_in_month(year, month));
                Date { year, month, day }.day_number()
            }
        };
        (day <= Date { year: YEAR_MAX, month: 12, day: 31 }.day_number())
            .then(|| WallSecond::new(day, second_of_day))
    }
}
