//! Tests of the server, in one binary: gRPC, HTTP, TLS, and hostile requests.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod api;
mod grpc;
mod hostile;
mod http;
mod request_ids;
#[cfg(unix)]
mod tls;
mod traces;
