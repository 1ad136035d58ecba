//! The state machines: what follows from a command.
//!
//! Everything here is pure. A run's state machine decides what a command means ([`run`]) and knows time,
//! ids and chance only as arguments. It never reads a clock, a disk or a socket, and never waits.

#![allow(deprecated, reason = "workers of earlier versions still send what the API deprecates")]

mod entity;
mod entity_id;
mod fields;
mod ids;
mod part;
mod part_rows;
pub mod run;
pub mod schedule;
pub mod search_attributes;
mod shared_map;
mod slot;
mod time;

pub use entity::{Entity, Rows, Unreadable};
pub use entity_id::{EntityId, EntityKey, EntityRef, Kind};
pub use ids::{FreshIds, FreshKeys, NamespaceKey};
pub use part::{PartId, RunPart, SchedulePart};
pub use shared_map::SharedMap;
pub use slot::{Slot, SlotRange};
pub use time::{Span, Time, checked_duration};

/// Zones by name, for cron strings.
pub use perennial_calendar::Zones;
