//! The tests of the store, in one binary: facts that every backend meets, what only a SQLite file
//! has, and queries.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod conformance;
mod memory;
mod postgres;
mod sqlite;
mod visibility;
mod wrapper;
mod writing;
