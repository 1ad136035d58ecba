//! `perennial schedule`.
//!
//! Commands call Perennial's `ScheduleService` first. If the server doesn't have it, they fall back to Temporal's
//! RPCs, as far as those suffice.

mod action_args;
mod backfill;
mod backfills;
mod create;
mod delete;
mod describe;
mod describe_text;
mod evaluate;
mod explain;
mod fetch;
mod history;
mod id_args;
mod ledger;
mod list;
mod list_matching_times;
mod policy_args;
mod preview;
mod spec_args;
mod spec_source;
mod spec_warnings;
mod toggle;
mod trigger;
mod update;
mod why;
mod wording;

use anyhow::Context;
use clap::Subcommand;
use perennial_proto::perennial::CommandContext;
use perennial_proto::temporal::schedule::v1::SchedulePatch;
use perennial_proto::temporal::workflowservice::v1::PatchScheduleRequest;
use tonic::{Code, Status};

use crate::client::{Client, ConnectionArgs};
use crate::failure::{Exit, ExitError};
use crate::input::InstantText;
use crate::session::{self, GlobalArgs};

/// Create and manage schedules
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
    Create(Box<create::Args>),
    Update(Box<update::Args>),
    #[command(visible_alias = "show")]
    Describe(describe::Args),
    #[command(visible_alias = "ls")]
    List(list::Args),
    Toggle(toggle::Args),
    Pause(toggle::PauseArgs),
    /// Resume a paused schedule
    #[command(visible_alias = "resume")]
    Unpause(toggle::PauseArgs),
    Trigger(trigger::Args),
    Backfill(backfill::Args),
    ListBackfills(backfills::ListArgs),
    CancelBackfill(backfills::CancelArgs),
    Delete(delete::Args),
    ListMatchingTimes(list_matching_times::Args),
    Preview(Box<preview::Args>),
    Explain(Box<explain::Args>),
    Why(why::Args),
    Ledger(ledger::Args),
    #[command(visible_alias = "audit")]
    History(history::Args),
    #[command(visible_alias = "tick")]
    Evaluate(evaluate::Args),
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule create payroll --cron '0 9 * * MON' --type Payroll --task-queue main
  perennial schedule describe payroll
  perennial schedule why payroll 2026-11-16T09:00
  perennial schedule backfill payroll --start-time 2026-11-01 --end-time 2026-11-15 --dry-run
"#;

/// Runs a `schedule` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let Args { command, connection } = args;
    // A spec given by flags needs no server.
    let command = match command {
        Command::Preview(args) if args.spec.is_typed() => return preview::run_here(*args, global),
        Command::Explain(args) if args.spec.is_typed() => return explain::run_here(*args, global),
        command => command,
    };
    session::run(global, connection, async |session| match command {
        Command::Create(args) => create::run(*args, session).await,
        Command::Update(args) => update::run(*args, session).await,
        Command::Describe(args) => describe::run(args, session).await,
        Command::List(args) => list::run(args, session).await,
        Command::Toggle(args) => toggle::run(args, session).await,
        Command::Pause(args) => toggle::pause(args, session).await,
        Command::Unpause(args) => toggle::unpause(args, session).await,
        Command::Trigger(args) => trigger::run(args, session).await,
        Command::Backfill(args) => backfill::run(args, session).await,
        Command::ListBackfills(args) => backfills::list(args, session).await,
        Command::CancelBackfill(args) => backfills::cancel(args, session).await,
        Command::Delete(args) => delete::run(args, session).await,
        Command::ListMatchingTimes(args) => list_matching_times::run(args, session).await,
        Command::Preview(args) => preview::run(*args, global, session).await,
        Command::Explain(args) => explain::run(*args, global, session).await,
        Command::Why(args) => why::run(args, session).await,
        Command::Ledger(args) => ledger::run(args, session).await,
        Command::History(args) => history::run(args, session).await,
        Command::Evaluate(args) => evaluate::run(args, session).await,
    })
}

/// Who makes the change and why, for the schedule's history.
fn context(client: &Client, reason: &str) -> Option<CommandContext> {
    Some(CommandContext {
        principal: client.identity.clone(),
        source: "cli".to_owned(),
        reason: reason.to_owned(),
        ..CommandContext::default()
    })
}

/// Changes a schedule with Temporal's `PatchSchedule`.
async fn patch(client: &Client, id: &str, patch: SchedulePatch) -> Result<(), Status> {
    let request = PatchScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.to_owned(),
        patch: Some(patch),
        identity: client.identity.clone(),
        request_id: Client::new_request_id(),
    };
    client.workflow().patch_schedule(request).await.map(|_| ())
}

/// Whether the server doesn't have the RPC.
fn is_unimplemented(status: &Status) -> bool {
    status.code() == Code::Unimplemented
}

/// The error for a command that needs Perennial's own service.
fn only_perennial(status: Status) -> anyhow::Error {
    if !is_unimplemented(&status) {
        return status.into();
    }
    ExitError {
        exit: Exit::Failed,
        message: "this server doesn't support the command: only Perennial's server does".to_owned(),
    }
    .into()
}

/// Resolves a time argument. A time without an offset is in the schedule's time zone.
async fn resolve_time(
    time: &InstantText,
    id: &str,
    client: &Client,
) -> anyhow::Result<jiff::Timestamp> {
    if let InstantText::Exact(instant) = time {
        return Ok(*instant);
    }
    let schedule = fetch::describe(client, id).await?;
    let spec = spec_source::compile(&schedule).context(
        "this machine doesn't know the schedule's time zone; give the time with an offset",
    )?;
    time.on(spec.zone())
}
