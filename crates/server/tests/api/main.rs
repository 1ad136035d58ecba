//! The API over gRPC, on a real server: tokens, filters, damage, starts, and calls in the same process.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod damage;
mod held_store;
mod in_process;
mod list_filters;
mod starts;
mod test_server;
mod tokens;
