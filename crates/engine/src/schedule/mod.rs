//! The state machine of a schedule: what starts when.
//!
//! [`Schedule`] is its state, [`Command`] what can be asked of it, [`Schedule::decide`] what follows, and
//! [`create`] makes one. Whatever the command, the same happens around it: times that are due get their
//! verdict, starts that waited for a run to end take their turn, and the next wake-up
//! follows.
//!
//! Progress is the nominal time up to which every time has its verdict. It moves with the verdict and the
//! start that follows from it, in one step: that is why a time never starts two runs, and is never lost.
//!
//! A schedule works with copies, like a run: a decision is dropped whole if the command is refused.

mod audit;
mod command;
mod decide;
mod draft;
mod evaluated;
mod ledger;
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
