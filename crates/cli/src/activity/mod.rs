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

use crate::absent::{AbsentArgs, absent};
use crate::client::ConnectionArgs;
use crate::input::ExecutionArgs;
use crate::session::{self, GlobalArgs};

/// End, pause and change activities that workflows wait for
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
    Start(AbsentArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial activity complete -w order-42 --activity-id 5 --result '"paid"'
  perennial activity pause -w order-42 --activity-id 5 --reason "bank is closed"
"#;

/// Which activity of which workflow.
#[derive(Debug, clap::Args)]
struct ActivityRefArgs {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Activity id, as `workflow describe` shows it
    #[arg(long, short, alias = "aid", value_name = "ID")]
    activity_id: String,
}

/// Runs one of the commands about activities.
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
        Command::Start(_) => Err(absent(
            "activities without a workflow",
            "`perennial workflow describe` shows the activities of one",
        )),
    })
}
