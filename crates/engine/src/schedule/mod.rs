//! The state machine of a schedule: when it starts which runs.
//!
//! [`Schedule`] is its state, [`Command`] the input, [`Schedule::decide`] the transition function, and [`create`]
//! makes a schedule. Every command is followed by the same work: due times are settled, that is, get their verdict;
//! buffered starts are started when the runs before them end; and the next wake-up time is computed.
//!
//! `settled_up_to` is the nominal time up to which every time has its verdict. It advances in the same transition that
//! stores the verdict and sends the start: so a time never starts two runs, and is never lost.
//!
//! A decision works on a copy, as in a run: if the command is rejected, the copy is dropped.

mod audit;
mod command;
mod decide;
mod draft;
mod evaluated;
mod ledger;
mod limits;
mod rows;
pub mod spec;
mod start;
mod state;
mod times;

pub use command::*;
pub use decide::create::create;
pub use decide::start_answered::refused_start;
pub use draft::{Decision, LedgerLine, Transition};
pub use evaluated::Evaluated;
pub use ledger::Skip;
pub use state::{Schedule, Status};
pub use times::Times;
