//! Tests of the server, in one binary: gRPC, HTTP, and hostile requests.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod api;
mod grpc;
mod hostile;
mod http;
