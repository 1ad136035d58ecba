//! `perennial activity`.

mod cancel;
mod complete;
mod fail;
mod options;
mod pause;
mod reset;
mod unpause;
mod update_options;

use clap::Subcommand;

use crate::client::ConnectionArgs;
use crate::input::ExecutionArgs;
use crate::session::{self, GlobalArgs};
use crate::unsupported::{UnsupportedArgs, unsupported};

/// Complete, fail, pause, reset and update activities of workflows
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
    Complete(complete::Args),
    Fail(fail::Args),
    Cancel(cancel::Args),
    Pause(pause::Args),
    Unpause(unpause::Args),
    Reset(reset::Args),
    UpdateOptions(update_options::Args),
    #[command(hide = true, aliases = ["execute", "result", "describe", "list", "count", "terminate", "delete"])]
    Start(UnsupportedArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial activity complete -w order-42 --activity-id 5 --result '"paid"'
  perennial activity pause -w order-42 --activity-id 5 --reason "bank is closed"
"#;

/// Arguments that name an activity.
#[derive(Debug, clap::Args)]
struct ActivityRefArgs {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Activity id, as `workflow describe` shows it
    #[arg(long, short, alias = "aid", value_name = "ID")]
    activity_id: String,
}

/// Runs an `activity` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    session::run(global, connection, async |session| match command {
        Command::Complete(args) => complete::run(args, session).await,
        Command::Fail(args) => fail::run(args, session).await,
        Command::Cancel(args) => cancel::run(args, session).await,
        Command::Pause(args) => pause::run(args, session).await,
        Command::Unpause(args) => unpause::run(args, session).await,
        Command::Reset(args) => reset::run(args, session).await,
        Command::UpdateOptions(args) => update_options::run(args, session).await,
        Command::Start(_) => Err(unsupported(
            "activities without a workflow",
            "`perennial workflow describe` shows the activities of a workflow",
        )),
    })
}
