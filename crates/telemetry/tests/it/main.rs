//! Tests of the files for operators.
#![allow(clippy::unwrap_used, reason = "helper functions of tests are test code")]

mod ops_files;
