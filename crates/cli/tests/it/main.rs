//! Tests of the command line, in one binary: they run the `perennial` binary as users run it.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

#[cfg(unix)]
mod access;
mod calendar;
#[cfg(unix)]
mod codec_server;
mod perennial;
mod postgres;
mod readme;
#[cfg(unix)]
mod schedule;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod server_process;
#[cfg(unix)]
mod tls;
#[cfg(unix)]
mod workflow;
