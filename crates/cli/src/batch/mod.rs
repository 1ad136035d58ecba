//! `perennial batch`.

mod describe;
mod list;
mod terminate;

use clap::Subcommand;
use tonic::{Code, Status};

use crate::client::ConnectionArgs;
use crate::failure::{Exit, ExitError};
use crate::session::{self, GlobalArgs};

/// List, describe and stop batch jobs
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
    Describe(describe::Args),
    Terminate(terminate::Args),
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow cancel --query 'WorkflowType = "Import"'
  perennial batch list
  perennial batch describe --job-id 5f0c6c51-…
"#;

/// Arguments that name a batch job.
#[derive(Debug, clap::Args)]
struct JobIdArgs {
    /// Job id
    #[arg(value_name = "JOB_ID", conflicts_with = "job_id", required_unless_present = "job_id")]
    id: Option<String>,

    /// Job id, as a flag
    #[arg(long = "job-id", value_name = "ID", id = "job_id")]
    flag: Option<String>,
}

impl JobIdArgs {
    fn get(&self) -> String {
        self.flag.clone().or_else(|| self.id.clone()).unwrap_or_default()
    }
}

/// Replaces the server's message, which is about the workflow that runs the job.
fn about_job(job_id: &str, status: Status) -> anyhow::Error {
    if status.code() != Code::NotFound {
        return status.into();
    }
    let message = match status.message().contains("already completed") {
        true => format!("batch job {job_id} has ended already"),
        false => {
            format!("there is no batch job {job_id}; `perennial batch list` lists the batch jobs")
        }
    };
    ExitError { exit: Exit::NotFound, message }.into()
}

/// Runs a `batch` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    session::run(global, connection, async |session| match command {
        Command::List(args) => list::run(args, session).await,
        Command::Describe(args) => describe::run(args, session).await,
        Command::Terminate(args) => terminate::run(args, session).await,
    })
}
