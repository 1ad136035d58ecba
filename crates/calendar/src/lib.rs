//! Calendar arithmetic: when does a schedule fire?
//!
//! The crate parses cron strings (three dialects), calendars by named fields, intervals, ISO 8601
//! repeating intervals and iCalendar recurrence rules, with time zones, exclusions, bounds, jitter and
//! a policy for daylight saving. It computes the matching instants in tens of nanoseconds, and explains
//! why other times don't match.
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
//! a definition is [compiled](Spec::compile) into a [`Spec`]; a spec computes its times
//! ([`next`](Spec::next), [`between`](Spec::between), [`previous`](Spec::previous)), the reason why
//! others are left out ([`trace`](Spec::trace)), and its meaning in words ([`explain`](Spec::explain)).
//!
//! The crate must never read a clock, a disk, the environment or random numbers. Instants, the zone
//! database, named calendars and the identity behind jitter are arguments, so equal calls have equal
//! results. No input makes it panic, overflow or hang.
//!
//! Start reading at [`spec`](Spec). `search.rs` converts local times to instants.

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
