//! Queries: results and refusals.

mod agreement;
mod refusals;
