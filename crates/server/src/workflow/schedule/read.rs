//! Reads schedules from requests.

use perennial_engine::schedule::{Command, NewBackfill, State, Times, Trigger, spec};
use perennial_engine::{Span, Time};
use perennial_proto::perennial::CommandContext;
use perennial_proto::store::{NamespaceRecord, ScheduleConfig};
use perennial_proto::temporal::common::v1::Memo;
use perennial_proto::temporal::enums::v1::{ScheduleOverlapPolicy, WorkflowIdReusePolicy};
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{
    Schedule, ScheduleAction, SchedulePatch, ScheduleState,
};
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use prost::Message;

use crate::call::Call;
use crate::errors::RpcResult;
use crate::search_attributes;
use crate::validate::{self, invalid};

const NOTES_BYTES_MAX: usize = 1_000;
/// A nominal time as it is appended to a workflow id. All have this length.
const SUFFIX_EXAMPLE: &str = "-2009-11-10T23:00:00Z";
const CATCHUP_WINDOW_DEFAULT: Span = Span::seconds(365 * 24 * 3600);
const CATCHUP_WINDOW_MIN: Span = Span::seconds(10);

impl Call<'_> {
    /// Checks the definition of a schedule, and fills in defaults.
    pub(crate) fn schedule_config(
        &self,
        schedule: &Schedule,
        schedule_id: &str,
        namespace: &NamespaceRecord,
    ) -> RpcResult<ScheduleConfig> {
        let given = schedule.spec.clone().unwrap_or_default();
        let definition = match spec::read(&given) {
            Ok(definition) => definition,
            Err(why) => return invalid(format!("Invalid schedule spec: {why}")),
        };
        let action = schedule.action.as_ref().and_then(|action| action.action.clone());
        let Some(Action::StartWorkflow(workflow)) = action else {
            return invalid("Only StartWorkflow action is supported for schedules");
        };
        let workflow = self.checked_action(workflow, schedule_id, namespace)?;
        let policies = schedule.policies.unwrap_or_default();
        let config = ScheduleConfig {
            spec: Some(spec::canonical(&definition)),
            action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
            overlap_policy: match overlap_policy(policies.overlap_policy)? {
                ScheduleOverlapPolicy::Unspecified => ScheduleOverlapPolicy::Skip.into(),
                given => given.into(),
            },
            catchup_window_nanos: catchup_window(policies.catchup_window.as_ref())?.0,
            pause_on_failure: policies.pause_on_failure,
            keep_original_workflow_id: policies.keep_original_workflow_id,
            ..ScheduleConfig::default()
        };
        // The cell that owns the schedule compiles the spec too. An invalid one is refused here, because finding
        // the reason and a suggestion may take long, and would block the cell.
        match Times::compile(&config, "", self.runtime().zones()).broken() {
            Some(why) => invalid(format!("Invalid schedule spec: {why}")),
            None => Ok(config),
        }
    }

    fn checked_action(
        &self,
        mut workflow: NewWorkflowExecutionInfo,
        schedule_id: &str,
        namespace: &NamespaceRecord,
    ) -> RpcResult<NewWorkflowExecutionInfo> {
        let base = match workflow.workflow_id.as_str() {
            "" => schedule_id,
            given => given,
        };
        validate::workflow_id(&format!("{base}{SUFFIX_EXAMPLE}"))?;
        validate::workflow_type(workflow.workflow_type.as_ref())?;
        workflow.task_queue = Some(validate::task_queue(workflow.task_queue)?);
        validate::timeout(
            workflow.workflow_execution_timeout.as_ref(),
            "WorkflowExecutionTimeoutSeconds",
        )?;
        validate::timeout(workflow.workflow_run_timeout.as_ref(), "WorkflowRunTimeoutSeconds")?;
        validate::timeout(workflow.workflow_task_timeout.as_ref(), "WorkflowTaskTimeoutSeconds")?;
        if !workflow.cron_schedule.is_empty() {
            return invalid("Scheduled workflow must not contain CronSchedule.");
        }
        match workflow.workflow_id_reuse_policy() {
            WorkflowIdReusePolicy::Unspecified | WorkflowIdReusePolicy::AllowDuplicate => {}
            _ => {
                return invalid(
                    "Scheduled workflow must use WorkflowIdReusePolicy AllowDuplicate.",
                );
            }
        }
        validate::retry_policy(workflow.retry_policy.clone())?;
        validate::priority(workflow.priority.as_ref())?;
        workflow.search_attributes =
            search_attributes::checked(workflow.search_attributes, namespace)?;
        validate::blob(workflow.input.as_ref(), self.runtime().limits().payload_bytes)?;
        workflow.memo = self.checked_memo(workflow.memo)?;
        Ok(workflow)
    }

    pub(in crate::workflow) fn checked_memo(&self, memo: Option<Memo>) -> RpcResult<Option<Memo>> {
        let bytes = memo.as_ref().map_or(0, Message::encoded_len);
        if bytes > self.runtime().limits().memo_bytes {
            return invalid("Memo size exceeds limit.");
        }
        Ok(memo)
    }
}

pub(crate) fn overlap_policy(given: i32) -> RpcResult<ScheduleOverlapPolicy> {
    match ScheduleOverlapPolicy::try_from(given) {
        Ok(policy) => Ok(policy),
        Err(_) => invalid(format!("OverlapPolicy {given} does not exist.")),
    }
}

/// How late a start may be. At least ten seconds, so that a restart of the server loses no starts.
fn catchup_window(given: Option<&perennial_proto::Duration>) -> RpcResult<Span> {
    let window = validate::timeout(given, "CatchupWindow")?;
    Ok(given.map_or(CATCHUP_WINDOW_DEFAULT, |_| window.max(CATCHUP_WINDOW_MIN)))
}

pub(super) fn state(state: Option<ScheduleState>) -> RpcResult<State> {
    let state = state.unwrap_or_default();
    notes(&state.notes)?;
    if state.remaining_actions < 0 {
        return invalid("RemainingActions is negative.");
    }
    Ok(State {
        paused: state.paused,
        notes: state.notes,
        remaining_actions: state.limited_actions.then_some(state.remaining_actions),
    })
}

pub(crate) fn notes(notes: &str) -> RpcResult<()> {
    if notes.len() > NOTES_BYTES_MAX {
        return invalid(format!("Notes exceed {NOTES_BYTES_MAX} bytes."));
    }
    Ok(())
}

/// The commands of a patch, in Temporal's order. Each has a request id of its own, to recognize retries.
pub(super) fn patch(
    patch: SchedulePatch,
    request_id: &str,
    context: Option<&CommandContext>,
) -> RpcResult<Vec<Command>> {
    notes(&patch.pause)?;
    notes(&patch.unpause)?;
    let mut commands = Vec::new();
    if let Some(trigger) = patch.trigger_immediately {
        commands.push(Command::Trigger(Trigger {
            request_id: format!("{request_id}:trigger"),
            overlap_policy: overlap_policy(trigger.overlap_policy)?,
            scheduled_at: trigger.scheduled_time.map(Time::from).and_then(Time::get),
            input: None,
            context: context.cloned(),
        }));
    }
    for (number, backfill) in patch.backfill_request.into_iter().enumerate() {
        let time = |given: Option<perennial_proto::Timestamp>, field: &str| match given {
            Some(given) => Ok(Time::from(given)),
            None => invalid(format!("{field} of a backfill is not set on request.")),
        };
        commands.push(Command::Backfill(NewBackfill {
            request_id: format!("{request_id}:backfill:{number}"),
            from: time(backfill.start_time, "StartTime")?,
            to: time(backfill.end_time, "EndTime")?,
            overlap_policy: overlap_policy(backfill.overlap_policy)?,
            context: context.cloned(),
        }));
    }
    if !patch.pause.is_empty() {
        commands.push(Command::Pause { notes: patch.pause, context: context.cloned() });
    }
    if !patch.unpause.is_empty() {
        commands.push(Command::Unpause { notes: patch.unpause, context: context.cloned() });
    }
    Ok(commands)
}

/// The version of the configuration in a [`conflict_token`](super::show::conflict_token).
pub(crate) fn conflict_token(token: &[u8]) -> RpcResult<Option<i64>> {
    if token.is_empty() {
        return Ok(None);
    }
    match token.try_into() {
        Ok(bytes) => Ok(Some(i64::from_be_bytes(bytes))),
        Err(_) => invalid("ConflictToken was not issued by this server."),
    }
}
