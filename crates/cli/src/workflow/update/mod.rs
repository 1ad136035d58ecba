//! `perennial workflow update`.

mod describe;
mod execute;
mod result;
pub(super) mod send;
mod start;

use clap::Subcommand;
use perennial_proto::temporal::update::v1::UpdateRef;

use crate::input::ExecutionArgs;
use crate::session::Session;

/// Send updates to a workflow and get their results
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Execute(execute::Args),
    Start(start::Args),
    Result(result::Args),
    Describe(describe::Args),
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow update execute order-42 --name addItem --input '{"sku": 7}'
  perennial workflow update start order-42 --name addItem --wait-for-stage accepted --update-id add-7
  perennial workflow update result order-42 --update-id add-7
"#;

/// Arguments that name an update.
#[derive(Debug, clap::Args)]
struct UpdateRefArgs {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Update id
    #[arg(long, value_name = "ID")]
    update_id: String,
}

impl UpdateRefArgs {
    fn get(&self) -> anyhow::Result<UpdateRef> {
        let workflow_execution = Some(self.execution.get()?);
        Ok(UpdateRef { workflow_execution, update_id: self.update_id.clone() })
    }
}

/// Runs a `workflow update` command.
pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    match args.command {
        Command::Execute(args) => execute::run(args, session).await,
        Command::Start(args) => start::run(args, session).await,
        Command::Result(args) => result::run(args, session).await,
        Command::Describe(args) => describe::run(args, session).await,
    }
}
