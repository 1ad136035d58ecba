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

use super::how::HowArgs;
use super::id::ScheduleIdArgs;
use super::only_perennial;
use super::remarks;
use super::what::WhatArgs;
use super::when::WhenArgs;
use crate::client::Client;
use crate::input::{json_pair, memo, search_attributes};
use crate::session::Session;

/// Create a schedule
///
/// A warning says if it never fires, or if a cron string probably means something else. Whether there is such a
/// time, and such a zone, is the server's to say.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,

    #[command(flatten)]
    when: WhenArgs,

    #[command(flatten)]
    what: WhatArgs,

    #[command(flatten)]
    how: HowArgs,

    /// Begin paused
    #[arg(long, help_heading = "How")]
    paused: bool,

    /// Start once now
    #[arg(long, help_heading = "How")]
    trigger_immediately: bool,

    /// Memo of the schedule; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "How", value_parser = json_pair)]
    schedule_memo: Vec<(String, Value)>,

    /// Search attribute of the schedule; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "How", value_parser = json_pair)]
    schedule_search_attribute: Vec<(String, Value)>,
}

const EXAMPLES: &str = r#"Examples:
  Every 5 hours at a quarter past, and on Fridays at 11:03, one run after the other
    perennial schedule create payroll --interval 5h/15m \
      --calendar '{"dayOfWeek":"Fri","hour":"11","minute":"3"}' --overlap-policy BufferAll \
      --workflow-id payroll --task-queue main --type Payroll --input '{"dry":false}'

  On the last day of the month at two in Oslo, also when the clock changes
    perennial schedule create close-books --cron '0 2 L * *' --time-zone Europe/Oslo --dst once \
      --task-queue main --type CloseBooks

  Look before: when would it fire?
    perennial schedule explain --cron '0 2 L * *' --time-zone Europe/Oslo
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let schedule_id = args.id.get()?;
    let client = &session.client;
    let request = CreateScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: schedule_id.clone(),
        schedule: Some(Schedule {
            spec: Some(spec::canonical(&args.when.read()?)),
            action: Some(ScheduleAction { action: Some(Action::StartWorkflow(args.what.read()?)) }),
            policies: Some(args.how.policies(SchedulePolicies::default())?),
            state: Some(
                args.how.state(ScheduleState { paused: args.paused, ..ScheduleState::default() }),
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
    let extensions = args.how.extensions.change(perennial::ScheduleExtensions::default());
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
    remarks::warn_of(&args.when, &schedule_id, &session.client).await;
    Ok(())
}
