//! The `perennial` command.
//!
//! It turns arguments into calls and answers into text: tables for people, JSON for programs. It is
//! the only place that reads the clock, the environment and the system's zone database for the
//! calendar, and hands them in. It must never decide when something fires (that is the `calendar`
//! crate), never hold in memory an answer whose length the user chooses, and never print anything
//! but the answer on standard output.
//!
//! Start reading at [`calendar::run`].
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks through its standard streams"
)]

mod calendar;
mod failure;
mod server;
mod system_zones;
mod terminal;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use terminal::Color;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Durable workflows and schedules.
#[derive(Debug, Parser)]
#[command(name = "perennial", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Colour the output
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Output"
    )]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    Calendar(Box<calendar::Args>),
    Server(Box<server::Args>),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Asked for nothing, so asked what there is: that is no mistake.
            return finish(write!(io::stdout(), "{}", error.render()).map_err(Into::into));
        }
        Err(error) => error.exit(),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match cli.command {
        Command::Calendar(args) => calendar::run(*args, cli.color, &mut out),
        Command::Server(args) => server::run(*args, &mut out),
    };
    finish(done.and_then(|()| Ok(out.flush()?)))
}

fn finish(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
