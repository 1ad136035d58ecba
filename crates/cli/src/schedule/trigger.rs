//! `perennial schedule trigger`.

use perennial_proto::perennial::trigger_schedule_response::Outcome;
use perennial_proto::perennial::{TriggerScheduleRequest, TriggerScheduleResponse};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;
use perennial_proto::temporal::schedule::v1::{SchedulePatch, TriggerImmediatelyRequest};

use super::id_args::ScheduleIdArgs;
use super::wording::reason_in_words;
use super::{context, is_unimplemented, only_perennial, patch};
use crate::client::Client;
use crate::input::{InputArgs, InstantText, overlap_policy};
use crate::output::stamp;
use crate::session::Session;

/// Start a run now, and show the result
///
/// Works for a paused schedule too, and ignores limited actions. The overlap policy applies.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    /// Overlap policy for this run [default: the schedule's]
    #[arg(long, value_name = "POLICY", value_parser = overlap_policy)]
    overlap_policy: Option<ScheduleOverlapPolicy>,

    /// Nominal time of the run, used in its workflow id [default: now]
    #[arg(long, value_name = "TIME")]
    scheduled_time: Option<InstantText>,

    /// Reason, stored in the schedule's history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    input: InputArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule trigger payroll
  perennial schedule trigger payroll --overlap-policy AllowAll
  perennial schedule trigger payroll --input '{"dry":true}' --reason "a trial before the audit"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    let client = &session.client;
    let scheduled_time = match &args.scheduled_time {
        Some(time) => Some(stamp(super::resolve_time(time, &id, client).await?)),
        None => None,
    };
    let policy = args.overlap_policy.unwrap_or_default();
    let request = TriggerScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        overlap_policy: policy.into(),
        scheduled_time,
        input: args.input.payloads()?,
        request_id: Client::new_request_id(),
        context: context(client, args.reason.as_deref().unwrap_or_default()),
    };
    let response = match client.schedules().trigger_schedule(request).await {
        Ok(response) => response.into_inner(),
        Err(status) if is_unimplemented(&status) && args.input.is_given() => {
            return Err(only_perennial(status));
        }
        Err(status) if is_unimplemented(&status) => {
            let trigger =
                TriggerImmediatelyRequest { overlap_policy: policy.into(), scheduled_time };
            let trigger =
                SchedulePatch { trigger_immediately: Some(trigger), ..SchedulePatch::default() };
            patch(client, &id, trigger).await?;
            TriggerScheduleResponse::default()
        }
        Err(status) => return Err(status.into()),
    };
    session.output.message(&response, |output| {
        Ok(output.line(match &response.outcome {
            Some(Outcome::Started(run)) => {
                format!("Started {} (run {})", run.workflow_id, run.run_id)
            }
            Some(Outcome::Buffered(1)) => "Buffered: starts when the current run ends".to_owned(),
            Some(Outcome::Buffered(depth)) => {
                format!("Buffered: starts after the runs before it; {depth} are waiting")
            }
            Some(Outcome::Skipped(reason)) => {
                format!("Skipped, nothing was started: {}", reason_in_words(reason))
            }
            Some(Outcome::Dropped(reason)) => {
                format!("Dropped, nothing was started: {}", reason_in_words(reason))
            }
            None => "Trigger request sent".to_owned(),
        })?)
    })
}
