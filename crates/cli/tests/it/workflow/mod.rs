//! The commands about workflows and the server, run as users run them, against a real server.

mod activities;
mod batches;
mod codec;
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
