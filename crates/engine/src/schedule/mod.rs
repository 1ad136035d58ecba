//! Schedules: what starts when.

pub mod spec;
