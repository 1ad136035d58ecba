//! Queries: what they find, and what is refused.

mod agreement;
mod refusals;
