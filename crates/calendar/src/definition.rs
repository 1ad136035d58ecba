//! A spec in canonical form, as describe and list show it.

use std::time::Duration;

use jiff::Timestamp;

use crate::dst::DstPolicy;
use crate::recurrence::Recurrence;
use crate::repeat::Repeat;

/// A spec in canonical form: the union of its calendars, intervals, repeats and recurrences, minus its
/// exclusions, within its bounds. Every notation is parsed into a definition, and
/// [`Spec::compile`](crate::Spec::compile) compiles it.
///
/// ```
/// use perennial_calendar::{Definition, Dialect};
///
/// let typed = Definition::read(&["CRON_TZ=Europe/Oslo @weekly # payroll"], Dialect::Temporal)?;
/// let spelled = Definition::read(&["CRON_TZ=Europe/Oslo 0 0 * * SUN #payroll"], Dialect::Temporal)?;
/// assert_eq!(typed, spelled);
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Calendar expressions: crons and named-field calendars end up here.
    pub calendars: Vec<Calendar>,
    /// Intervals aligned to the Unix epoch.
    pub intervals: Vec<Interval>,
    /// Intervals anchored at a date of their own, in civil units or exact ones.
    pub repeats: Vec<Repeat>,
    /// iCalendar recurrence rules.
    pub recurrences: Vec<Recurrence>,
    /// Times that match any of these, to the second, are left out.
    pub exclusions: Vec<Calendar>,
    /// Names of calendars to leave out, looked up when the spec is compiled.
    pub excluded_calendars: Vec<String>,
    /// No time before this one (inclusive, by the nominal time).
    pub start: Option<Timestamp>,
    /// No time after this one (inclusive, by the nominal time).
    pub end: Option<Timestamp>,
    /// Maximum delay of each time; zero for none.
    pub jitter: Duration,
    /// The time zone of calendars, repeats and recurrences.
    pub zone: ZoneSource,
    /// The policy for clock changes. `None` for the default of each part: [`DstPolicy::RECURRENCE`] for
    /// recurrence rules, [`DstPolicy::LITERAL`] for the others.
    pub dst: Option<DstPolicy>,
}

/// The source of a spec's time zone rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ZoneSource {
    /// Unspecified: UTC.
    #[default]
    Default,
    /// An IANA name, looked up when the spec is compiled.
    Name(String),
    /// A TZif file inside the spec itself, with the name it is shown by.
    Tzif {
        /// Only shown; may be empty.
        name: String,
        /// The file's bytes.
        data: Vec<u8>,
    },
}

/// A calendar expression: a second matches if every field of the wall clock matches.
///
/// As in Temporal's structured calendars an empty list matches nothing, except for `year`, where it
/// matches every year from 2000 to 2100. `special_days` and `special_weekdays` widen the two day fields beyond what those can
/// say; a calendar that uses neither is [structured](Self::is_structured).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    /// 0–59.
    pub second: Vec<FieldRange>,
    /// 0–59.
    pub minute: Vec<FieldRange>,
    /// 0–23.
    pub hour: Vec<FieldRange>,
    /// 1–31.
    pub day_of_month: Vec<FieldRange>,
    /// Further days of the month: `L`, `L-3`, `LW`, `15W`.
    pub special_days: Vec<SpecialDay>,
    /// 1–12.
    pub month: Vec<FieldRange>,
    /// 0–6, Sunday is 0.
    pub day_of_week: Vec<FieldRange>,
    /// Further weekdays: `FRI#2`, `FRIL`.
    pub special_weekdays: Vec<SpecialWeekday>,
    /// 2000–2100; empty for all of them.
    pub year: Vec<FieldRange>,
    /// Free text, at most 200 bytes.
    pub comment: String,
}

/// `start`, `start + step`, … up to `end`. `end` and `step` are always filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldRange {
    /// The first value.
    pub start: u16,
    /// The last value that may match, at least `start`.
    pub end: u16,
    /// At least 1.
    pub step: u16,
}

/// A day of the month that is not a fixed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialDay {
    /// `L` (0) and `L-n` (n ≤ 30): this many days before the last day of the month.
    BeforeLast(u8),
    /// `LW`: the last Monday-to-Friday day of the month.
    LastWeekday,
    /// `15W`: the Monday-to-Friday day nearest to that day, in the same month. In a month without
    /// that day there is none.
    NearestWeekday(u8),
}

/// A weekday counted within the month. Sunday is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialWeekday {
    /// `FRI#2`: the second Friday. `nth` is 1–5; a month without a fifth one has none.
    Nth {
        /// 0–6.
        weekday: u8,
        /// 1–5.
        nth: u8,
    },
    /// `FRIL`: the last Friday.
    Last {
        /// 0–6.
        weekday: u8,
    },
}

/// Every `every` seconds, `phase` seconds after a multiple of it, counted from the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// In seconds, at least 1.
    pub every: u64,
    /// In seconds, less than `every`.
    pub phase: u64,
}

impl FieldRange {
    /// A single value.
    pub const fn single(value: u16) -> Self {
        FieldRange { start: value, end: value, step: 1 }
    }

    /// Every value from `start` to `end`.
    pub const fn new(start: u16, end: u16) -> Self {
        FieldRange { start, end, step: 1 }
    }

    /// The values it stands for.
    pub fn values(self) -> impl Iterator<Item = u16> {
        (self.start..=self.end).step_by(usize::from(self.step.max(1)))
    }
}

impl Calendar {
    /// Whether Temporal's structured calendars can say it: no `L`, `W` or `#`.
    pub fn is_structured(&self) -> bool {
        self.special_days.is_empty() && self.special_weekdays.is_empty()
    }
}

impl Interval {
    /// The interval of that length that has `anchor` (Unix seconds) among its times.
    ///
    /// ```
    /// use perennial_calendar::Interval;
    /// assert_eq!(Interval::anchored(3600, 1_000_000_000).phase, 1_000_000_000 % 3600);
    /// ```
    pub fn anchored(every: u64, anchor: i64) -> Self {
        let length = i64::try_from(every.max(1)).unwrap_or(i64::MAX);
        Interval { every, phase: anchor.rem_euclid(length).unsigned_abs() }
    }
}
