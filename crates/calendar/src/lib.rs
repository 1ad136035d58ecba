//! When does it fire?
//!
//! This crate reads every way of saying "at these times" (cron strings in three dialects, calendars
//! by named fields, intervals, ISO 8601 repeating intervals, iCalendar recurrence rules, with zones,
//! exclusions, bounds, jitter and a policy for daylight saving), and answers which instants are
//! meant, in tens of nanoseconds, and why others are not.
//!
//! ```
//! use jiff::tz::TimeZoneDatabase;
//! use perennial_calendar::{Definition, Dialect, NamedCalendars, Spec, Zones};
//!
//! let zones = Zones::new(TimeZoneDatabase::bundled());
//! let mut definition = Definition::read(&["0 2 L * *"], Dialect::Temporal)?;
//! definition.set_zone("Europe/Oslo")?;
//! let spec = Spec::compile(definition, &zones, &NamedCalendars::default())?;
//!
//! let now = "2026-11-15T12:00:00Z".parse().unwrap();
//! let times: Vec<_> = spec.after(now).take(2).map(|time| time.nominal.to_string()).collect();
//! assert_eq!(times, ["2026-11-30T01:00:00Z", "2026-12-31T01:00:00Z"]);
//! # Ok::<(), perennial_calendar::Error>(())
//! ```
//!
//! Data flows one way: text is [read](Definition::read) into a [`Definition`], the canonical form;
//! a definition is [compiled](Spec::compile) into a [`Spec`]; a spec is asked for its times
//! ([`next`](Spec::next), [`between`](Spec::between), [`previous`](Spec::previous)), for what became
//! of each ([`trace`](Spec::trace)), or for its meaning ([`explain`](Spec::explain)).
//!
//! What it must never do: ask a clock, a disk, the environment or chance. Instants, the zone
//! database, named calendars and the identity behind jitter are arguments, so equal questions have
//! equal answers. Nothing it is given makes it panic, overflow or hang.
//!
//! Start reading at [`spec`](Spec) and, for how a wall clock becomes instants, at `search.rs`.

mod civil;
mod compile;
mod definition;
mod dst;
mod error;
mod explain;
mod hash;
mod jitter;
mod matcher;
mod named;
mod occurrences;
mod parse;
mod part;
mod recurrence;
mod repeat;
mod search;
mod sieve;
mod spec;
mod text;
mod trace;
mod zone;

pub use definition::{
    Calendar, Definition, FieldRange, Interval, SpecialDay, SpecialWeekday, ZoneSource,
};
pub use dst::{DstPolicy, OnGap, OnRepeat};
pub use error::{Error, ParseError, excerpt};
pub use explain::{Explanation, Warning};
pub use named::NamedCalendars;
pub use occurrences::Occurrences;
pub use parse::duration::parse_duration;
pub use parse::{Dialect, FieldTexts, likely_mistakes};
pub use part::{ExclusionRef, PartRef};
pub use recurrence::{Frequency, Recurrence, Until, WeekdayNum};
pub use repeat::{Period, Repeat};
pub use spec::{GaveUp, Occurrence, Search, Spec};
pub use trace::{LeftOut, Reason, Trace, Traced};
pub use zone::{Zone, Zones};
