//! The API over HTTP, on a real server.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod browsers;
mod lifecycle;
mod mapping;
mod refusals;
mod schedules;
mod test_server;
