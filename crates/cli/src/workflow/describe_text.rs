//! Formats a workflow's description as text.

use perennial_proto::json::{Payloads, to_json};
use perennial_proto::temporal::enums::v1::PendingActivityState;
use perennial_proto::temporal::workflow::v1::{PendingActivityInfo, PendingChildExecutionInfo};
use perennial_proto::temporal::workflowservice::v1::DescribeWorkflowExecutionResponse;
use serde_json::Value;

use super::lineage::Lineage;
use super::list::{status_name, status_style};
use super::outcome::{Outcome, friendly, run_time};
use super::task_problem::TaskProblem;
use crate::output::{
    Card, Column, Output, Row, Times, attribute_values, instant, short_name, thousands,
};
use crate::terminal::Style;

/// Details from the history, in addition to the description.
pub(super) struct HistoryDetails<'o> {
    pub(super) outcome: Option<&'o Outcome<'o>>,
    pub(super) lineage: Option<Lineage>,
    pub(super) problem: Option<TaskProblem>,
}

pub(super) fn write(
    described: &DescribeWorkflowExecutionResponse,
    details: &HistoryDetails<'_>,
    namespace: &str,
    output: &mut Output,
) -> anyhow::Result<()> {
    let mut card = Card::default();
    let times = output.times.clone();
    let HistoryDetails { outcome, lineage, problem } = details;
    if let Some(lineage) = lineage {
        lineage.fill(&mut card);
    }
    fill_info(described, namespace, &times, &mut card);
    if let Some(problem) = problem {
        problem.fill(&mut card);
    }
    fill_extended(described, &times, &mut card);
    if let Some(outcome) = outcome {
        let info = described.workflow_execution_info.clone().unwrap_or_default();
        let took = info.execution_duration.unwrap_or_default();
        let millis =
            took.seconds.saturating_mul(1_000).saturating_add((took.nanos / 1_000_000).into());
        outcome.fill(&mut card, run_time(u64::try_from(millis).unwrap_or_default()));
    }
    output.card(&card)?;
    if outcome.is_some() {
        return Ok(());
    }
    let activities = &described.pending_activities;
    output.line(format!("\nPending activities: {}", activities.len()))?;
    let columns = ["ActivityId", "Type", "State", "Attempt"].map(Column::new);
    let more = ["Next", "LastFailure", "Worker"].map(Column::if_room);
    let columns = columns.into_iter().chain(more).collect();
    output.table(columns, activities.iter().map(|activity| activity_row(activity, &times)))?;
    let children = &described.pending_children;
    output.line(format!("\nPending child workflows: {}", children.len()))?;
    let columns = ["WorkflowId", "Type", "RunId"].map(Column::new).to_vec();
    Ok(output.table(columns, children.iter().map(child_row))?)
}

fn fill_info(
    described: &DescribeWorkflowExecutionResponse,
    namespace: &str,
    times: &Times,
    card: &mut Card,
) {
    let info = described.workflow_execution_info.clone().unwrap_or_default();
    let execution = info.execution.clone().unwrap_or_default();
    let time = |time: &Option<perennial_proto::Timestamp>| times.show(instant(time.as_ref()));
    let fields = |value: Option<Value>| value.map(|it| it.to_string()).unwrap_or_default();
    let memo = info.memo.as_ref().filter(|memo| !memo.fields.is_empty());
    let attributes = info.search_attributes.as_ref().filter(|it| !it.indexed_fields.is_empty());
    let parent = info.parent_execution.clone().unwrap_or_default();
    let root = info.root_execution.clone().unwrap_or_default();
    let config = described.execution_config.clone().unwrap_or_default();
    let told = config.user_metadata.unwrap_or_default();
    let text = |payload: Option<_>| match payload.map(|it| to_json(&it, Payloads::Shorthand)) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    card.heading("Execution Info:")
        .field("WorkflowId", execution.workflow_id)
        .field("RunId", execution.run_id)
        .field("Type", info.r#type.clone().unwrap_or_default().name)
        .styled("Status", status_name(info.status()), status_style(info.status()))
        .field("Namespace", namespace)
        .field("TaskQueue", info.task_queue.clone())
        .field("Summary", text(told.summary))
        .field("Details", text(told.details))
        .field("StartTime", time(&info.start_time))
        .field(
            "ExecutionTime",
            match info.execution_time == info.start_time {
                true => String::new(),
                false => time(&info.execution_time),
            },
        )
        .field("CloseTime", time(&info.close_time))
        .field("Memo", fields(memo.map(|it| to_json(it, Payloads::Shorthand)["fields"].clone())))
        .field("SearchAttributes", fields(attributes.map(attribute_values)))
        .field("HistoryLength", number(info.history_length))
        .field("HistorySize", format!("{} bytes", number(info.history_size_bytes)))
        .field("StateTransitions", number(info.state_transition_count))
        .field("ParentWorkflowId", parent.workflow_id)
        .field("ParentRunId", parent.run_id);
    if root.run_id != info.execution.unwrap_or_default().run_id {
        card.field("RootWorkflowId", root.workflow_id).field("RootRunId", root.run_id);
    }
}

fn fill_extended(described: &DescribeWorkflowExecutionResponse, times: &Times, card: &mut Card) {
    let Some(more) = &described.workflow_extended_info else { return };
    let time = |time: &Option<perennial_proto::Timestamp>| times.show(instant(time.as_ref()));
    card.heading("Extended Execution Info:")
        .styled("CancelRequested", if more.cancel_requested { "yes" } else { "" }, Style::Warning)
        .field("ExecutionExpirationTime", time(&more.execution_expiration_time))
        .field("RunExpirationTime", time(&more.run_expiration_time))
        .field("LastResetTime", time(&more.last_reset_time))
        .field("ResetRunId", more.reset_run_id.clone());
    if let Some(pause) = &more.pause_info {
        card.heading("Pause Info:")
            .field("PausedTime", time(&pause.paused_time))
            .field("Identity", pause.identity.clone())
            .field("Reason", pause.reason.clone());
    }
}

fn activity_row(activity: &PendingActivityInfo, times: &Times) -> Row {
    let attempts = match activity.maximum_attempts {
        0 => activity.attempt.to_string(),
        most => format!("{}/{most}", activity.attempt),
    };
    let state = match activity.paused {
        true => "Paused".to_owned(),
        false => activity_state(activity.state()),
    };
    let failure = activity.last_failure.as_ref();
    let details = activity.heartbeat_details.as_ref();
    let details = details.map(|it| format!("heartbeat {}", friendly(it, Payloads::Shorthand)));
    let said = failure.map(|it| it.message.clone()).or(details).unwrap_or_default();
    let style = if failure.is_some() { Style::Warning } else { Style::Plain };
    Row::from([
        activity.activity_id.clone(),
        activity.activity_type.clone().unwrap_or_default().name,
        state,
        attempts,
        times.show(instant(activity.next_attempt_schedule_time.as_ref())),
        said,
        activity.last_worker_identity.clone(),
    ])
    .styled(style)
}

/// `Scheduled`, `Started`.
pub(super) fn activity_state(state: PendingActivityState) -> String {
    short_name(state.as_str_name(), "PENDING_ACTIVITY_STATE_")
}

fn child_row(child: &PendingChildExecutionInfo) -> Row {
    let cells = [child.workflow_id.clone(), child.workflow_type_name.clone(), child.run_id.clone()];
    Row::from(cells)
}

fn number(count: i64) -> String {
    u64::try_from(count).map(thousands).unwrap_or_else(|_| count.to_string())
}
