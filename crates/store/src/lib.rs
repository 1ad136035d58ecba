//! The durable truth: what is stored, and how it is found again.

pub mod visibility;
