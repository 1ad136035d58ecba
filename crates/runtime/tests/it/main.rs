//! Tests of the runtime, in one binary.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod child_start;
mod completion_pages;
mod deletion;
mod faulty_store;
mod kit;
mod leases;
mod memory;
mod metrics;
mod one_activity;
mod schedules;
mod turns;
