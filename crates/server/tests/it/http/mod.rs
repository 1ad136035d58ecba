//! The API over HTTP, on a real server.

mod browsers;
mod lifecycle;
mod mapping;
mod refusals;
mod schedules;
mod test_server;
