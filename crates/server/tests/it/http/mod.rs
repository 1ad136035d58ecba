//! The API over HTTP, on a real server.

mod browsers;
mod health;
mod lifecycle;
mod mapping;
mod metrics;
mod refusals;
mod schedules;
pub(crate) mod test_server;
