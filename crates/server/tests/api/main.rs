//! What strangers may ask of the API, over gRPC, on a real server.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod damage;
mod held_store;
mod in_process;
mod list_filters;
mod scene;
mod starts;
mod tokens;
