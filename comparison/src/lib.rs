//! Perennial's calendar beside the other cron crates of Rust: the same spec compiled by each, and
//! the same starting points walked by each.
//!
//! The binary `calendar` measures them side by side; the tests compare what they answer. Nothing
//! here is part of the product: it is a workspace of its own, so that the crates compared with stay
//! out of the product's lock file.
//!
//! Start with [`contender`], which holds each crate to one interface.

pub mod contender;
pub mod expression;
pub mod random;
