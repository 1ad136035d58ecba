//! Tests of credentials, in one binary.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod jwt;
