//! The state machine of a run.

mod command;
mod reply;
mod state;

pub use command::*;
pub use reply::*;
pub use state::Run;
