//! Tests of the calendar, in one binary.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod bounded;
mod errors;
mod explain;
mod laws;
mod oracle;
mod references;
mod zones;
