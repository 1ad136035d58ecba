//! `perennial schedule update`.

use clap::ValueEnum;
use perennial_calendar::{Definition, ZoneSource};
use perennial_engine::schedule::spec;
use perennial_proto::perennial;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{
    Schedule, ScheduleAction, SchedulePolicies, ScheduleSpec, ScheduleState,
};
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::{
    UpdateScheduleRequest, UpdateScheduleResponse,
};
use tonic::{Code, Status};

use super::action_args::ActionArgs;
use super::fetch::{self, Described};
use super::id_args::ScheduleIdArgs;
use super::only_perennial;
use super::policy_args::PolicyArgs;
use super::spec_args::ScheduleSpecArgs;
use super::spec_warnings;
use super::wording::remark_if_idle;
use crate::client::Client;
use crate::failure::Usage;
use crate::session::Session;

/// Attempts to apply a change while others change the schedule too.
const ATTEMPTS: usize = 10;

/// Change a schedule; everything not given stays as it is
///
/// Giving any calendar, cron string or interval replaces all of them.
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

    /// Pause the schedule; =false unpauses it
    #[arg(long, help_heading = "Policies", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    paused: Option<bool>,

    /// Remove this setting; repeatable
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "replace")]
    clear: Vec<Clear>,

    /// Replace the whole schedule, as Temporal's command line does: everything not given gets its default
    #[arg(long)]
    replace: bool,
}

/// Settings that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Clear {
    Exclude,
    TimeZone,
    Dst,
    Jitter,
    StartTime,
    EndTime,
    WorkflowId,
    Input,
    Memo,
    SearchAttributes,
    Headers,
    ExecutionTimeout,
    RunTimeout,
    Notes,
    Labels,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule update payroll --cron '30 9 * * MON'
  perennial schedule update payroll --input '{"dry":true}' --notes "a trial"
  perennial schedule update payroll --clear end-time --clear jitter

  As Temporal's command line does it
    perennial schedule update payroll --replace --interval 1h --type Payroll --task-queue main
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let id = args.id.get()?;
    if !args.replace && !args.changes_something() {
        return Err(Usage::new("nothing to change: give at least one flag, see --help").into());
    }
    let mut attempts = 0;
    let conflict_token = loop {
        attempts += 1;
        let present = fetch::describe(&session.client, &id).await?;
        match args.send(&present, &session.client).await {
            Ok(conflict_token) => break conflict_token,
            // Another client changed the schedule meanwhile: apply the change to the new version.
            Err(error) if attempts < ATTEMPTS && is_conflict(&error) => {}
            Err(error) => return Err(error),
        }
    };
    let after = fetch::describe(&session.client, &id).await?.ours.unwrap_or_default();
    let (status, status_reason) = (after.status, after.status_reason);
    let response = perennial::UpdateScheduleResponse { conflict_token, status, status_reason };
    session.output.message(&response, |output| {
        output.line(format!("Updated {id}"))?;
        Ok(remark_if_idle(&response.status_reason, output)?)
    })?;
    session.output.flush()?;
    if args.spec.is_given() {
        spec_warnings::warn_about_spec(&args.spec, &id, &session.client).await;
    }
    Ok(())
}

impl Args {
    fn changes_something(&self) -> bool {
        let policies = &self.policies;
        self.spec.is_given()
            || self.action.is_given()
            || self.paused.is_some()
            || !self.clear.is_empty()
            || policies.overlap_policy.is_some()
            || policies.catchup_window.is_some()
            || policies.pause_on_failure.is_some()
            || policies.keep_original_workflow_id.is_some()
            || policies.remaining_actions.is_some()
            || policies.notes.is_some()
            || policies.extensions.change(perennial::ScheduleExtensions::default()).is_some()
    }

    /// Sends the change, based on the version that was fetched.
    async fn send(&self, present: &Described, client: &Client) -> anyhow::Result<Vec<u8>> {
        let schedule = self.changed(present)?;
        let conflict_token = present.schedule.conflict_token.clone();
        let extensions = present.ours.as_ref().and_then(|ours| ours.extensions.clone());
        let mut extensions = extensions.filter(|_| !self.replace).unwrap_or_default();
        let clears_labels = self.clear.contains(&Clear::Labels);
        if clears_labels {
            extensions.labels.clear();
        }
        let changed = self.policies.extensions.change(extensions.clone());
        let extensions = changed.or(clears_labels.then_some(extensions));
        let Some(extensions) = extensions else {
            let request = UpdateScheduleRequest {
                namespace: client.namespace.clone(),
                schedule_id: present.id.clone(),
                schedule: Some(schedule),
                conflict_token,
                identity: client.identity.clone(),
                request_id: Client::new_request_id(),
                ..UpdateScheduleRequest::default()
            };
            let UpdateScheduleResponse {} =
                client.workflow().update_schedule(request).await?.into_inner();
            return Ok(Vec::new());
        };
        if self.paused.is_some() {
            let both = "--paused can't be combined with flags under \"Perennial only\"; use `schedule pause` or `unpause`";
            return Err(Usage::new(both).into());
        }
        let policies = schedule.policies.unwrap_or_default();
        let state = schedule.state.unwrap_or_default();
        let limit = if state.limited_actions { state.remaining_actions } else { -1 };
        let request = perennial::UpdateScheduleRequest {
            namespace: client.namespace.clone(),
            schedule_id: present.id.clone(),
            spec: schedule.spec,
            action: schedule.action,
            overlap_policy: Some(policies.overlap_policy),
            catchup_window: policies.catchup_window,
            pause_on_failure: Some(policies.pause_on_failure),
            keep_original_workflow_id: Some(policies.keep_original_workflow_id),
            notes: Some(state.notes),
            remaining_actions: Some(limit),
            extensions: Some(extensions),
            conflict_token,
            request_id: Client::new_request_id(),
            context: super::context(client, ""),
        };
        let response = client.schedules().update_schedule(request).await;
        Ok(response.map_err(only_perennial)?.into_inner().conflict_token)
    }

    /// The schedule after the change.
    fn changed(&self, present: &Described) -> anyhow::Result<Schedule> {
        if self.replace {
            return Ok(Schedule {
                spec: Some(spec::canonical(&self.spec.read()?)),
                action: Some(start(self.action.read()?)),
                policies: Some(self.policies.policies(SchedulePolicies::default())?),
                state: Some(self.policies.state(ScheduleState {
                    paused: self.paused.unwrap_or_default(),
                    ..ScheduleState::default()
                })),
            });
        }
        let schedule = present.schedule.schedule.clone().unwrap_or_default();
        let mut state = self.policies.state(schedule.state.clone().unwrap_or_default());
        state.paused = self.paused.unwrap_or(state.paused);
        if self.clear.contains(&Clear::Notes) {
            state.notes.clear();
        }
        let mut action = match schedule.action.clone().and_then(|action| action.action) {
            Some(Action::StartWorkflow(action)) => self.action.change(action)?,
            None => self.action.read()?,
        };
        self.clear_of_action(&mut action);
        Ok(Schedule {
            spec: Some(self.changed_spec(&present.spec())?),
            action: Some(start(action)),
            policies: Some(self.policies.policies(schedule.policies.unwrap_or_default())?),
            state: Some(state),
        })
    }

    fn changed_spec(&self, present: &ScheduleSpec) -> anyhow::Result<ScheduleSpec> {
        let untouched = !self.spec.is_given() && self.clear.is_empty();
        if untouched {
            // This works even if the present spec is invalid.
            return Ok(present.clone());
        }
        let mut definition: Definition = spec::read(present)?;
        for setting in &self.clear {
            match setting {
                Clear::Exclude => definition.exclusions.clear(),
                Clear::TimeZone => definition.zone = ZoneSource::Default,
                Clear::Dst => definition.dst = None,
                Clear::Jitter => definition.jitter = std::time::Duration::ZERO,
                Clear::StartTime => definition.start = None,
                Clear::EndTime => definition.end = None,
                Clear::WorkflowId
                | Clear::Input
                | Clear::Memo
                | Clear::SearchAttributes
                | Clear::Headers
                | Clear::ExecutionTimeout
                | Clear::RunTimeout
                | Clear::Notes
                | Clear::Labels => {}
            }
        }
        Ok(spec::canonical(&self.spec.change(definition)?))
    }

    fn clear_of_action(&self, action: &mut NewWorkflowExecutionInfo) {
        for setting in &self.clear {
            match setting {
                Clear::WorkflowId => action.workflow_id.clear(),
                Clear::Input => action.input = None,
                Clear::Memo => action.memo = None,
                Clear::SearchAttributes => action.search_attributes = None,
                Clear::Headers => action.header = None,
                Clear::ExecutionTimeout => action.workflow_execution_timeout = None,
                Clear::RunTimeout => action.workflow_run_timeout = None,
                Clear::Exclude
                | Clear::TimeZone
                | Clear::Dst
                | Clear::Jitter
                | Clear::StartTime
                | Clear::EndTime
                | Clear::Notes
                | Clear::Labels => {}
            }
        }
    }
}

fn start(action: NewWorkflowExecutionInfo) -> ScheduleAction {
    ScheduleAction { action: Some(Action::StartWorkflow(action)) }
}

fn is_conflict(error: &anyhow::Error) -> bool {
    let status = error.downcast_ref::<Status>();
    status.is_some_and(|it| matches!(it.code(), Code::FailedPrecondition | Code::Aborted))
}
