//! `perennial schedule delete`.

use perennial_proto::perennial;
use perennial_proto::temporal::workflowservice::v1::DeleteScheduleRequest;

use super::id_args::ScheduleIdArgs;
use super::{context, is_unimplemented};
use crate::session::Session;

/// Delete a schedule; its running workflows go on
///
/// Its records stay: `schedule history` and `schedule ledger` still show them, and `schedule list --deleted`
/// lists the schedule (on Perennial's server).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Reason, stored in the schedule's history
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule delete payroll --reason "moved to the new system"

  Its runs too
    perennial workflow terminate --query 'TemporalScheduledById = "payroll"'
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    let client = &session.client;
    let request = perennial::DeleteScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        reason: args.reason.clone(),
        context: context(client, &args.reason),
    };
    match client.schedules().delete_schedule(request).await {
        Ok(_) => {}
        Err(status) if is_unimplemented(&status) => {
            let request = DeleteScheduleRequest {
                namespace: client.namespace.clone(),
                schedule_id: id.clone(),
                identity: client.identity.clone(),
            };
            client.workflow().delete_schedule(request).await?;
        }
        Err(status) => return Err(status.into()),
    }
    let response = perennial::DeleteScheduleResponse {};
    session.output.message(&response, |output| Ok(output.line(format!("Deleted {id}"))?))
}
