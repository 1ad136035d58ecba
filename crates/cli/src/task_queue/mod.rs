//! `perennial task-queue`.

mod age;
mod describe;
mod list_partition;

use clap::Subcommand;

use crate::client::ConnectionArgs;
use crate::session::{self, GlobalArgs};
use crate::unsupported::{UnsupportedArgs, unsupported};

/// Show the pollers and the backlog of task queues
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
    Describe(describe::Args),
    ListPartition(list_partition::Args),
    #[command(hide = true)]
    Config(UnsupportedArgs),
    #[command(hide = true, aliases = ["get-build-ids", "get-build-id-reachability", "update-build-ids"])]
    Versioning(UnsupportedArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial task-queue describe --task-queue main
"#;

/// Arguments that name a task queue.
#[derive(Debug, clap::Args)]
struct TaskQueueArgs {
    /// Task queue
    #[arg(value_name = "TASK_QUEUE", conflicts_with = "task_queue")]
    #[arg(required_unless_present = "task_queue")]
    name: Option<String>,

    /// Task queue, as a flag
    #[arg(long = "task-queue", short = 't', aliases = ["tq", "taskqueue"], value_name = "NAME")]
    #[arg(id = "task_queue")]
    flag: Option<String>,
}

impl TaskQueueArgs {
    fn get(&self) -> String {
        self.flag.clone().or_else(|| self.name.clone()).unwrap_or_default()
    }
}

/// Runs a `task-queue` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    session::run(global, connection, async |session| match command {
        Command::Describe(args) => describe::run(args, session).await,
        Command::ListPartition(args) => list_partition::run(args, session).await,
        Command::Config(_) => Err(unsupported(
            "configuration of task queues",
            "workers set rate limits (maxTaskQueueActivitiesPerSecond)",
        )),
        Command::Versioning(_) => {
            Err(unsupported("rules for build ids", "`task-queue describe` shows the pollers"))
        }
    })
}
