//! `perennial batch`.

mod describe;
mod list;
mod terminate;

use clap::Subcommand;
use tonic::{Code, Status};

use crate::client::ConnectionArgs;
use crate::failure::{Ends, Exit};
use crate::session::{self, GlobalArgs};

/// See and stop batch jobs, which `workflow` commands with --query start
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

/// Which job, by its place or as a flag.
#[derive(Debug, clap::Args)]
struct JobIdArgs {
    /// Job id
    #[arg(value_name = "JOB_ID", conflicts_with = "job_id", required_unless_present = "job_id")]
    id: Option<String>,

    /// The same as a flag
    #[arg(long = "job-id", value_name = "ID", id = "job_id")]
    flag: Option<String>,
}

impl JobIdArgs {
    fn get(&self) -> String {
        self.flag.clone().or_else(|| self.id.clone()).unwrap_or_default()
    }
}

/// The server's words are about the workflow that a job is inside of it.
fn about_job(job_id: &str, status: Status) -> anyhow::Error {
    if status.code() != Code::NotFound {
        return status.into();
    }
    let message = match status.message().contains("already completed") {
        true => format!("batch job {job_id} has ended already"),
        false => {
            format!("there is no batch job {job_id}; `perennial batch list` shows those there are")
        }
    };
    Ends { with: Exit::NotFound, message }.into()
}

/// Runs one of the commands about batch jobs.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    session::run(global, connection, async |session| match command {
        Command::List(args) => list::run(args, session).await,
        Command::Describe(args) => describe::run(args, session).await,
        Command::Terminate(args) => terminate::run(args, session).await,
    })
}
