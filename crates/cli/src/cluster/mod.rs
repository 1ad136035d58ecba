//! `perennial cluster`.

mod list;

use clap::Subcommand;

use crate::client::ConnectionArgs;
use crate::session::{self, GlobalArgs};

/// Show the nodes and cells of a cluster
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(visible_alias = "ls")]
    List(list::Args),
}

const EXAMPLES: &str = r#"Examples:
  perennial cluster list
  perennial cluster list --output json
"#;

pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    match command {
        Command::List(list::Args {}) => session::run(global, connection, list::run),
    }
}
