//! `perennial schedule`.

mod list;

use clap::Subcommand;

use crate::client::ConnectionArgs;
use crate::session::{self, GlobalArgs};

/// Start workflows at the right times, and see what became of it
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
}

/// Runs one of the commands about schedules.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    session::run(global, connection, async |session| match command {
        Command::List(args) => list::run(args, session).await,
    })
}
