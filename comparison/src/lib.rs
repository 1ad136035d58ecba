//! Compares Perennial's calendar with other cron crates: each compiles the same specs, and computes times
//! from the same instants.
//!
//! The binary `calendar` is the benchmark; the tests compare the results. Nothing here is part of the
//! product: it is a separate workspace, so that the other crates stay out of the product's lock file.
//!
//! Start with [`contender`], one interface to all crates.

pub mod contender;
pub mod expression;
pub mod random;
