//! `perennial workflow`.

mod cancel;
mod count;
mod delete;
mod describe;
mod describe_text;
mod event_text;
mod execute;
mod fix_history_json;
mod history;
mod lineage;
mod list;
mod outcome;
mod pause;
mod query;
mod reset;
mod reset_point;
mod result;
mod show;
mod signal;
mod signal_with_start;
mod start;
mod start_args;
mod started;
mod target;
mod task_problem;
mod terminate;
mod trace;
mod update;
mod update_options;
mod update_with_start;

use clap::Subcommand;

pub(crate) use self::describe::describe;
pub(crate) use self::task_problem::{REPORTED_PROBLEMS, TaskProblem};
use crate::client::ConnectionArgs;
use crate::session::{self, GlobalArgs};
use crate::user::user_name;

/// Start, inspect and control workflows
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
    Start(Box<start::Args>),
    #[command(visible_alias = "run")]
    Execute(Box<execute::Args>),
    #[command(visible_alias = "ls")]
    List(list::Args),
    Count(count::Args),
    Describe(describe::Args),
    Show(show::Args),
    /// Follow the history, same as `show --follow`
    Observe(show::ObserveArgs),
    Trace(trace::Args),
    Result(result::Args),
    Signal(signal::Args),
    SignalWithStart(Box<signal_with_start::Args>),
    Query(query::Args),
    Stack(query::StackArgs),
    Metadata(query::MetadataArgs),
    Update(update::Args),
    StartUpdateWithStart(Box<update_with_start::StartArguments>),
    ExecuteUpdateWithStart(Box<update_with_start::ExecuteArguments>),
    Cancel(cancel::Args),
    Terminate(terminate::Args),
    Delete(delete::Args),
    Reset(reset::Args),
    Pause(pause::Args),
    /// Resume a paused workflow
    Unpause(pause::Args),
    UpdateOptions(update_options::Args),
    FixHistoryJson(fix_history_json::Args),
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow execute --type Greet --task-queue main --input '"Ada"'
  perennial workflow list --query 'ExecutionStatus = "Running"'
  perennial workflow show order-42 --follow
  perennial workflow terminate --query 'WorkflowType = "Import"' --reason "wrong file"
"#;

/// Runs a `workflow` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    if let Command::FixHistoryJson(args) = &command {
        return fix_history_json::run(args);
    }
    session::run(global, connection, async |session| match command {
        Command::Start(args) => start::run(*args, session).await,
        Command::Execute(args) => execute::run(*args, session).await,
        Command::List(args) => list::run(args, session).await,
        Command::Count(args) => count::run(args, session).await,
        Command::Describe(args) => describe::run(args, session).await,
        Command::Show(args) => show::run(args, session).await,
        Command::Observe(args) => show::observe(args, session).await,
        Command::Trace(args) => trace::run(args, session).await,
        Command::Result(args) => result::run(args, session).await,
        Command::Signal(args) => signal::run(args, session).await,
        Command::SignalWithStart(args) => signal_with_start::run(*args, session).await,
        Command::Query(args) => query::run(args, session).await,
        Command::Stack(args) => query::stack(args, session).await,
        Command::Metadata(args) => query::metadata(args, session).await,
        Command::Update(args) => update::run(args, session).await,
        Command::StartUpdateWithStart(args) => update_with_start::start(*args, session).await,
        Command::ExecuteUpdateWithStart(args) => update_with_start::execute(*args, session).await,
        Command::Cancel(args) => cancel::run(args, session).await,
        Command::Terminate(args) => terminate::run(args, session).await,
        Command::Delete(args) => delete::run(args, session).await,
        Command::Reset(args) => reset::run(args, session).await,
        Command::Pause(args) => pause::pause(args, session).await,
        Command::Unpause(args) => pause::unpause(args, session).await,
        Command::UpdateOptions(args) => update_options::run(args, session).await,
        Command::FixHistoryJson(args) => fix_history_json::run(&args),
    })
}

/// The default reason: who runs the command.
fn default_reason() -> String {
    let user = user_name();
    format!("Requested from CLI by {}", user.as_deref().unwrap_or("<unknown-user>"))
}
