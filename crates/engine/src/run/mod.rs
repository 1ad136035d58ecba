//! The state machine of a run.
//!
//! A run is a workflow execution: started once, closed once. [`Run`] is its state, [`Command`] what can be
//! asked of it, [`Run::decide`] what follows. Beside that, [`start`] makes a run, for which a workflow id is
//! asked rather than a run.
//!
//! A decision never changes the run it is asked of. It works on a copy that takes each event as it is
//! emitted, since the commands of one completion depend on each other, and that is dropped whole if the
//! command is refused.

mod apply;
mod builds;
mod command;
mod context;
mod deadlines;
mod decide;
mod draft;
mod event;
mod priority;
mod replay;
mod reply;
mod rows;
mod state;

pub use command::*;
pub use context::{Context, Limits};
pub use decide::reset::{Reset, ResetRun, reset};
pub use decide::retry::checked_retry_policy;
pub(crate) use decide::retry::complete_policy;
pub(crate) use decide::scheduler_identity;
pub use decide::start::{Start, start};
pub use decide::start_by_message::start_by_message;
pub use decide::timeout_failure;
pub use draft::{Decision, Effect, Offer, Transition};
pub use replay::{Identity, Origin};
pub use reply::*;
pub use state::Run;
