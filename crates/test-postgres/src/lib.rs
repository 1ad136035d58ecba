//! A PostgreSQL server for tests: never part of the product.
//!
//! [`TestPostgres::start`] finds the programs, makes a cluster in a temporary folder and serves it on a Unix socket
//! there, so that servers of several processes don't meet. Root starts it as an unprivileged user, because PostgreSQL
//! refuses to run as root. The server ends with the process that started it, also if that is killed.

mod programs;
mod server;

pub use server::{Session, TestPostgres};
