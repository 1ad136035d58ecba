//! A worker polls and receives the workflow task.

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::SuggestContinueAsNewReason;
use perennial_proto::temporal::history::v1::WorkflowTaskStartedEventAttributes;

use super::Decided;
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::run::{Context, Rejection, Reply, Run, StartWorkflowTask, TaskStamp};

pub(super) fn decide(run: &Run, start: StartWorkflowTask, cx: &Context<'_>) -> Decided {
    in_step(run, start, run.head.history_bytes, cx)
}

/// Starts a task in the transition that scheduled it. `history_bytes` is the size of the history before that
/// transition.
pub(super) fn in_step(
    run: &Run,
    start: StartWorkflowTask,
    history_bytes: i64,
    cx: &Context<'_>,
) -> Decided {
    run.open()?;
    let task = offered(run, &start)?;
    let mut draft = run.draft(cx);
    let kind = task.kind();
    let other_events_came = task.scheduled_event_id != run.head.next_event_id;
    if kind == stored::WorkflowTaskKind::Transient && other_events_came {
        // New events were recorded since, so this is another task, and its attempts count from one.
        draft.run.head.workflow_task = None;
        draft.run.head.next_task_attempt = 1;
        let scheduled = draft.scheduled_attributes(1);
        draft.record(Attributes::WorkflowTaskScheduledEventAttributes(scheduled));
        if let Some(again) = &mut draft.run.head.workflow_task {
            again.stamp = task.stamp;
        }
        record_start(&mut draft, start, history_bytes);
    } else if kind == stored::WorkflowTaskKind::Normal {
        record_start(&mut draft, start, history_bytes);
    } else {
        let now = draft.now();
        let suggestion = suggestion(&draft.run, cx);
        if let Some(task) = &mut draft.run.head.workflow_task {
            task.started_event_id = task.scheduled_event_id + 1;
            task.started_at = now.0;
            task.identity = start.identity;
            task.request_id = start.request_id;
            task.suggest_continue_as_new = !suggestion.is_empty();
            task.history_bytes = history_bytes;
        }
    }
    Ok(draft.done(Reply::TaskStarted))
}

fn offered(run: &Run, start: &StartWorkflowTask) -> Result<stored::WorkflowTask, Rejection> {
    let offered =
        |task: &&stored::WorkflowTask| task.started_at == 0 && TaskStamp::from(*task) == start.task;
    let is_held_back = run.head.paused.is_some();
    let task = run.head.workflow_task.as_ref().filter(|_| !is_held_back).filter(offered).cloned();
    task.ok_or_else(|| Rejection::TaskNotFound("Workflow task not found.".to_owned()))
}

fn record_start(draft: &mut Draft<'_>, start: StartWorkflowTask, history_bytes: i64) {
    let scheduled_event_id =
        draft.run.head.workflow_task.as_ref().map_or(0, |task| task.scheduled_event_id);
    let reasons = suggestion(&draft.run, draft.cx);
    draft.record(Attributes::WorkflowTaskStartedEventAttributes(
        WorkflowTaskStartedEventAttributes {
            scheduled_event_id,
            identity: start.identity,
            request_id: start.request_id,
            suggest_continue_as_new: !reasons.is_empty(),
            suggest_continue_as_new_reasons: reasons.into_iter().map(Into::into).collect(),
            history_size_bytes: history_bytes,
            worker_version: start.worker_version,
            ..WorkflowTaskStartedEventAttributes::default()
        },
    ));
}

/// The reasons to advise the workflow to continue as new; empty if there are none.
fn suggestion(run: &Run, cx: &Context<'_>) -> Vec<SuggestContinueAsNewReason> {
    let mut reasons = Vec::new();
    if run.head.history_bytes >= cx.limits.suggest_continue_bytes {
        reasons.push(SuggestContinueAsNewReason::HistorySizeTooLarge);
    }
    if run.head.next_event_id >= cx.limits.suggest_continue_events {
        reasons.push(SuggestContinueAsNewReason::TooManyHistoryEvents);
    }
    if run.updates.len() >= cx.limits.updates * 9 / 10 {
        reasons.push(SuggestContinueAsNewReason::TooManyUpdates);
    }
    reasons
}
