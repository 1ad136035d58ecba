//! A deterministic world for runs and schedules: the server's own cells, queues and outbox under random
//! clients and workers, crashes, commits of unknown outcome, duplicate and late messages and clock jumps, and an
//! auditor that holds what is stored against what anyone was told.
//!
//! [`simulate`] makes a world from a seed, lets it go wild, lets it quiesce, and audits it. The same seed
//! gives the same world, always. Nothing here is part of the product, and the auditor shares no code with
//! it but the fold of a history, which the product promises to be the state.
//!
//! Start reading at [`mod@world`], then `audit`.

#![allow(deprecated, reason = "commands name other namespaces in fields that the API deprecates")]

mod actors;
mod audit;
mod chance;
mod disk;
mod executor;
mod report;
mod sabotage;
mod sim;
mod trace;
pub mod world;

pub use audit::Violation;
pub use report::{Outcome, Report};
pub use sabotage::Sabotage;
pub use world::simulate;
