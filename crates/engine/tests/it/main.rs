//! The tests of the engine, in one binary: runs, schedules, and the specs of schedules.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod run;
mod schedule;
mod schedule_spec;
