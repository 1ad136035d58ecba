//! Requests that no client sends who means well: none stops the server, takes more than its share, or is answered
//! with a code that makes clients send it again.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod connections;
mod every_rpc;
mod json;
mod messages;
mod names;
mod scene;
