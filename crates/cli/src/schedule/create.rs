//! `perennial schedule create`.

use perennial_engine::schedule::spec;
use perennial_proto::perennial;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{
    Schedule, ScheduleAction, SchedulePatch, SchedulePolicies, ScheduleState,
    TriggerImmediatelyRequest,
};
use perennial_proto::temporal::workflowservice::v1::CreateScheduleRequest;
use serde_json::Value;

use super::action_args::ActionArgs;
use super::id_args::ScheduleIdArgs;
use super::only_perennial;
use super::policy_args::PolicyArgs;
use super::spec_args::ScheduleSpecArgs;
use super::spec_warnings;
use crate::client::Client;
use crate::input::{json_pair, memo, search_attributes};
use crate::session::Session;

/// Create a schedule
///
/// Warns if the schedule never fires, or if a cron string looks like a mistake.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    #[command(flatten)]
    spec: ScheduleSpecArgs,

    #[command(flatten)]
    action: ActionArgs,

    #[command(flatten)]
    policies: PolicyArgs,

    /// Create the schedule paused
    #[arg(long, help_heading = "Policies")]
    paused: bool,

    /// Also start a run now
    #[arg(long, help_heading = "Policies")]
    trigger_immediately: bool,

    /// Memo of the schedule; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "Policies", value_parser = json_pair)]
    schedule_memo: Vec<(String, Value)>,

    /// Search attribute of the schedule; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "Policies", value_parser = json_pair)]
    schedule_search_attribute: Vec<(String, Value)>,
}

const EXAMPLES: &str = r#"Examples:
  Every 5 hours at a quarter past, and on Fridays at 11:03, one run after the other
    perennial schedule create payroll --interval 5h/15m \
      --calendar '{"dayOfWeek":"Fri","hour":"11","minute":"3"}' --overlap-policy BufferAll \
      --workflow-id payroll --task-queue main --type Payroll --input '{"dry":false}'

  At 02:00 Oslo time on the last day of each month, exactly once on clock changes
    perennial schedule create close-books --cron '0 2 L * *' --time-zone Europe/Oslo --dst once \
      --task-queue main --type CloseBooks

  Preview the times first
    perennial schedule explain --cron '0 2 L * *' --time-zone Europe/Oslo
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let schedule_id = args.id.get()?;
    let client = &session.client;
    let request = CreateScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: schedule_id.clone(),
        schedule: Some(Schedule {
            spec: Some(spec::canonical(&args.spec.read()?)),
            action: Some(ScheduleAction {
                action: Some(Action::StartWorkflow(args.action.read()?)),
            }),
            policies: Some(args.policies.policies(SchedulePolicies::default())?),
            state: Some(
                args.policies
                    .state(ScheduleState { paused: args.paused, ..ScheduleState::default() }),
            ),
        }),
        initial_patch: args.trigger_immediately.then(|| SchedulePatch {
            trigger_immediately: Some(TriggerImmediatelyRequest::default()),
            ..SchedulePatch::default()
        }),
        identity: client.identity.clone(),
        request_id: Client::new_request_id(),
        memo: memo(&args.schedule_memo),
        search_attributes: search_attributes(&args.schedule_search_attribute),
    };
    let extensions = args.policies.extensions.change(perennial::ScheduleExtensions::default());
    let conflict_token = match extensions {
        None => client.workflow().create_schedule(request).await?.into_inner().conflict_token,
        Some(_) => {
            let request = perennial::CreateScheduleRequest { schedule: Some(request), extensions };
            let created = client.schedules().create_schedule(request).await;
            created.map_err(only_perennial)?.into_inner().conflict_token
        }
    };
    let response =
        perennial_proto::temporal::workflowservice::v1::CreateScheduleResponse { conflict_token };
    session
        .output
        .message(&response, |output| Ok(output.line(format!("Created {schedule_id}"))?))?;
    session.output.flush()?;
    spec_warnings::warn_about_spec(&args.spec, &schedule_id, &session.client).await;
    Ok(())
}
