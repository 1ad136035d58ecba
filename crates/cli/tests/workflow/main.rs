//! The commands about workflows and the server, run as users run them, against a real server.
#![cfg(unix)]

mod activities;
mod batches;
mod control;
mod errors;
mod help;
mod messages;
mod older_names;
mod operator;
mod perennial;
mod restart;
mod runs;
mod server;
mod task_queues;
mod trace;
mod worker;
