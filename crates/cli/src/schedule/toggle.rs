//! `perennial schedule toggle`, `pause` and `unpause`.

use perennial_proto::perennial::{PauseScheduleRequest, ResumeScheduleRequest};
use perennial_proto::temporal::schedule::v1::SchedulePatch;

use super::id_args::ScheduleIdArgs;
use super::wording::remark_if_idle;
use super::{context, is_unimplemented, patch};
use crate::output::instant;
use crate::session::Session;

/// Pause or unpause a schedule (--pause, --unpause)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    #[command(flatten)]
    toggle: ToggleAction,

    #[command(flatten)]
    reason: ReasonArgs,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ToggleAction {
    /// Pause the schedule
    #[arg(long)]
    pause: bool,

    /// Unpause the schedule; times missed while paused are not caught up
    #[arg(long)]
    unpause: bool,
}

#[derive(Debug, clap::Args)]
struct ReasonArgs {
    /// Reason, stored as the schedule's note
    #[arg(long, value_name = "TEXT", default_value = "(no reason provided)")]
    reason: String,
}

/// Pause a schedule
#[derive(Debug, clap::Args)]
#[command(after_help = SHORT_EXAMPLES)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    id: ScheduleIdArgs,

    #[command(flatten)]
    reason: ReasonArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule toggle payroll --pause --reason "paused because the database is down"
  perennial schedule toggle payroll --unpause --reason "the database is back up"
"#;

const SHORT_EXAMPLES: &str = r#"Examples:
  perennial schedule pause payroll --reason "the database is down"
  perennial schedule unpause payroll --reason "it is back up"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    match args.toggle.pause {
        true => pause_it(id, args.reason.reason, session).await,
        false => resume_it(id, args.reason.reason, session).await,
    }
}

pub(super) async fn pause(args: PauseArgs, session: &mut Session) -> anyhow::Result<()> {
    pause_it(args.id.get()?, args.reason.reason, session).await
}

pub(super) async fn unpause(args: PauseArgs, session: &mut Session) -> anyhow::Result<()> {
    resume_it(args.id.get()?, args.reason.reason, session).await
}

async fn pause_it(id: String, notes: String, session: &mut Session) -> anyhow::Result<()> {
    let client = &session.client;
    let request = PauseScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        notes: notes.clone(),
        context: context(client, &notes),
    };
    match client.schedules().pause_schedule(request).await {
        Ok(_) => {}
        Err(status) if is_unimplemented(&status) => {
            patch(client, &id, SchedulePatch { pause: notes, ..SchedulePatch::default() }).await?;
        }
        Err(status) => return Err(status.into()),
    }
    let response = perennial_proto::perennial::PauseScheduleResponse {};
    session.output.message(&response, |output| Ok(output.line(format!("Paused {id}"))?))
}

async fn resume_it(id: String, notes: String, session: &mut Session) -> anyhow::Result<()> {
    let client = &session.client;
    let request = ResumeScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        notes: notes.clone(),
        context: context(client, &notes),
    };
    let response = match client.schedules().resume_schedule(request).await {
        Ok(response) => response.into_inner(),
        Err(status) if is_unimplemented(&status) => {
            let unpause = SchedulePatch { unpause: notes, ..SchedulePatch::default() };
            patch(client, &id, unpause).await?;
            perennial_proto::perennial::ResumeScheduleResponse::default()
        }
        Err(status) => return Err(status.into()),
    };
    session.output.message(&response, |output| {
        let next = instant(response.next_fire_at.as_ref());
        let next = next.map(|next| format!("; next: {}", output.times.show(Some(next))));
        output.line(format!("Resumed {id}{}", next.unwrap_or_default()))?;
        Ok(remark_if_idle(&response.status_reason, output)?)
    })
}
