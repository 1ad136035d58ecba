//! Tests a running server with the official Rust SDK.
//!
//! `TEMPORAL_ADDRESS` names the server; its namespace is `default`. Each test has a worker on a task
//! queue of its own, so that the suite can share the server with others.

mod activities;
mod activity_facts;
mod connection;
mod message_facts;
mod run_facts;
mod scene;
mod schedule_facts;
mod workflows;
