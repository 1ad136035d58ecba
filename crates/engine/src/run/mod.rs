//! The state machine of a run.
//!
//! A run is a workflow execution: started once, closed once. [`Run`] is its state, [`Command`] the input,
//! [`Run::decide`] the transition function. [`start`] creates a run: it is a command to a workflow id, not to a run.
//!
//! A decision never changes its run. It works on a copy to which each event is applied as it is emitted, since the
//! commands of one completion depend on each other. If the command is rejected, the copy is dropped.

mod apply;
mod builds;
mod command;
mod context;
mod deadlines;
mod decide;
mod draft;
mod event;
mod limits;
mod priority;
mod replay;
mod reply;
mod rows;
mod state;

pub use command::*;
pub use context::Context;
pub use decide::reset::{Reset, ResetRun, reset};
pub use decide::retry::checked_retry_policy;
pub(crate) use decide::retry::complete_policy;
pub(crate) use decide::scheduler_identity;
pub use decide::start::{Start, start};
pub use decide::start_by_message::start_by_message;
pub use decide::timeout_failure;
pub use draft::{Decision, Effect, Offer, Transition};
pub use limits::Limits;
pub use replay::{Identity, Origin};
pub use reply::*;
pub use state::Run;
