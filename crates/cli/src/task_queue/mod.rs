//! `perennial task-queue`.

mod age;
mod describe;
mod list_partition;

use clap::Subcommand;

use crate::absent::{AbsentArgs, absent};
use crate::client::ConnectionArgs;
use crate::session::{self, GlobalArgs};

/// See who polls a task queue, and what waits in it
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
    Config(AbsentArgs),
    #[command(hide = true, aliases = ["get-build-ids", "get-build-id-reachability", "update-build-ids"])]
    Versioning(AbsentArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial task-queue describe --task-queue main
"#;

/// Which task queue, by its place or as a flag.
#[derive(Debug, clap::Args)]
struct TaskQueueArgs {
    /// Task queue
    #[arg(value_name = "TASK_QUEUE", conflicts_with = "task_queue")]
    #[arg(required_unless_present = "task_queue")]
    name: Option<String>,

    /// The same as a flag
    #[arg(long = "task-queue", short = 't', aliases = ["tq", "taskqueue"], value_name = "NAME")]
    #[arg(id = "task_queue")]
    flag: Option<String>,
}

impl TaskQueueArgs {
    fn get(&self) -> String {
        self.flag.clone().or_else(|| self.name.clone()).unwrap_or_default()
    }
}

/// Runs one of the commands about task queues.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    session::run(global, connection, async |session| match command {
        Command::Describe(args) => describe::run(args, session).await,
        Command::ListPartition(args) => list_partition::run(args, session).await,
        Command::Config(_) => Err(absent(
            "configuration of task queues",
            "workers limit themselves (maxTaskQueueActivitiesPerSecond)",
        )),
        Command::Versioning(_) => {
            Err(absent("rules for build ids", "`task-queue describe` shows who polls"))
        }
    })
}
