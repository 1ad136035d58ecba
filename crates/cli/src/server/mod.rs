//! `perennial server`: the server itself.

mod dynamic_config;
mod http_callers;
mod launch;
mod pair;
mod settings;
mod shutdown;
mod size;
mod start_dev;

use std::io::Write;

use clap::Subcommand;

/// Run the server: one process, one file
///
/// It serves Temporal's gRPC API, so every Temporal SDK and the `temporal` command work with it, and the same
/// as JSON over HTTP. State is
/// kept in one SQLite file; what the server has answered is in it, whatever happens next.
///
/// Settings come from flags, then from the environment, then from the file that --config names.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
#[group(id = "server-settings")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    settings: settings::Settings,
}

#[derive(Debug, Subcommand)]
enum Command {
    StartDev(Box<start_dev::Args>),
}

const EXAMPLES: &str = r#"Examples:
  For development: nothing is kept, and the default namespace is there
    perennial server start-dev

  A server that keeps its state in a file
    perennial server --db perennial.db

  The same, set up by a file
    perennial server --config perennial.toml
"#;

/// Hears from now on when the process is told to stop.
pub(crate) fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    shutdown::listen()
}

/// Runs a server until it is told to stop.
pub(crate) fn run(args: Args, out: &mut impl Write) -> anyhow::Result<()> {
    let plan = match args.command {
        Some(Command::StartDev(args)) => args.plan()?,
        None => args.settings.plan()?,
    };
    launch::launch(plan, out)
}
