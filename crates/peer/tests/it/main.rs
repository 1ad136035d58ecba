//! Tests of the connections between nodes, over real TCP.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod calls;
mod connecting;
mod handshake;
mod liveness;
mod proxy;
mod server;
mod stop;
mod tls;
