//! When does it fire?
mod civil;
mod definition;
mod dst;
mod error;
mod explain;
mod jitter;
mod matcher;
mod named;
mod parse;
mod recurrence;
mod repeat;
mod search;
mod spec;
mod zone;

pub use definition::{
    Calendar, Definition, FieldRange, Interval, SpecialDay, SpecialWeekday, ZoneSource,
};
pub use dst::{DstPolicy, OnGap, OnRepeat};
pub use error::{Error, ParseError};
pub use explain::{Explanation, Warning};
pub use named::NamedCalendars;
pub use parse::Dialect;
pub use parse::duration::parse_duration;
pub use recurrence::Recurrence;
pub use repeat::{Period, Repeat};
pub use spec::{ExclusionRef, Occurrence, Occurrences, PartRef, Search, Spec};
pub use zone::{Zone, Zones};
