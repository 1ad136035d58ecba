//! The commands about workflows and the server, run as users run them, against a real server.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod activities;
mod batches;
mod control;
mod errors;
mod help;
mod messages;
mod older_names;
mod operator;
mod restart;
mod runs;
mod scene;
mod task_queues;
mod trace;
mod worker;

#[allow(dead_code, reason = "tests of other commands use the rest")]
#[path = "../perennial/mod.rs"]
mod perennial;
#[allow(dead_code, reason = "tests of other commands use the rest")]
#[path = "../perennial/server.rs"]
mod server;
