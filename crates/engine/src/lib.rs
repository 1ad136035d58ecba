//! The state machines of workflow runs and schedules.
//!
//! Everything here is pure. A state machine ([`run`], [`schedule`]) decides what follows from a command. Time, ids and
//! randomness are arguments: the engine never reads a clock, a disk or a socket, and never blocks.

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

/// Time zones by name, for cron strings and schedules.
pub use perennial_calendar::Zones;
