//! The state machines: what follows from a command.
//!
//! Everything here is pure. A run's state machine decides what a command means ([`run`]) and knows time,
//! ids and chance only as arguments. It never reads a clock, a disk or a socket, and never waits.

#![allow(deprecated, reason = "workers of earlier versions still send what the API deprecates")]

mod fields;
mod ids;
mod part;
mod part_rows;
pub mod run;
pub mod schedule;
pub mod search_attributes;
mod shared_map;
mod time;

pub use ids::{FreshIds, FreshKeys, NamespaceKey, RunKey, ScheduleKey, Slot};
pub use part::{PartKey, PartWrite, SchedulePart};
pub use shared_map::SharedMap;
pub use time::{Span, Time, checked_duration};

/// Zones by name, for cron strings.
pub use perennial_calendar::Zones;
