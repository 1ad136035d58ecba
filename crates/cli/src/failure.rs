//! How a command fails: what it says, and its exit code.

use std::io;
use std::process::ExitCode;

use crate::terminal::say;

/// An argument that is readable to clap but makes no sense to us.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Usage(message.into())
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Says what went wrong and gives the exit code: 2 for a spec or argument that cannot be read, 1
/// for anything else. A reader that left (`| head`) is not a failure.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if error.chain().any(is_closed_pipe) {
        return ExitCode::SUCCESS;
    }
    say(format_args!("error: {error:#}"));
    ExitCode::from(if error.chain().any(is_usage) { 2 } else { 1 })
}

fn is_closed_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let kind = match cause.downcast_ref::<io::Error>() {
        Some(error) => Some(error.kind()),
        None => cause.downcast_ref::<serde_json::Error>().and_then(|error| error.io_error_kind()),
    };
    kind == Some(io::ErrorKind::BrokenPipe)
}

fn is_usage(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<Usage>()
        || cause.is::<perennial_calendar::Error>()
        || cause.is::<perennial_calendar::ParseError>()
}
