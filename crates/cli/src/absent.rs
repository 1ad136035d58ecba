//! Commands of Temporal's that Perennial has nothing for. Whoever types one is told so.

use crate::failure::{Ends, Exit};

/// Takes whatever comes after the command.
#[derive(Debug, clap::Args)]
pub(crate) struct AbsentArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<String>,
}

/// Says what there is not, and what to use instead.
pub(crate) fn absent(what: &str, instead: &str) -> anyhow::Error {
    let message = format!("Perennial has no {what}; {instead}");
    Ends { with: Exit::Failed, message }.into()
}
