//! Commands of Temporal's command line that Perennial doesn't support.

use crate::failure::{Exit, ExitError};

/// Accepts any arguments, so that the error is about the command and not about its flags.
#[derive(Debug, clap::Args)]
pub(crate) struct UnsupportedArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<String>,
}

/// The error for an unsupported command, with an alternative.
pub(crate) fn unsupported(what: &str, instead: &str) -> anyhow::Error {
    let message = format!("Perennial has no {what}; {instead}");
    ExitError { exit: Exit::Failed, message }.into()
}
