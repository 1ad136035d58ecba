//! When does it fire?
mod civil;
mod definition;
mod dst;
mod error;
mod recurrence;
mod repeat;

pub use definition::{
    Calendar, Definition, FieldRange, Interval, SpecialDay, SpecialWeekday, ZoneSource,
};
pub use dst::{DstPolicy, OnGap, OnRepeat};
pub use error::{Error, ParseError};
pub use recurrence::Recurrence;
pub use repeat::Repeat;
