//! Pausing and unpausing a run.

use perennial_proto::store::WorkflowTaskKind;
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::history::v1::{
    WorkflowExecutionPausedEventAttributes, WorkflowExecutionUnpausedEventAttributes,
    WorkflowTaskFailedEventAttributes,
};

use super::fail_workflow_task::fail_task;
use super::{Decided, SERVER_IDENTITY};
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::run::{Context, Decision, PauseRun, Rejection, Reply, Run};

/// Pauses the run: no task is offered until it is unpaused; running tasks may finish.
pub(super) fn pause(run: &Run, request: PauseRun, cx: &Context<'_>) -> Decided {
    run.open()?;
    if let Some(paused) = &run.head.paused {
        if paused.request_id == request.request_id {
            return Ok(Decision { transition: None, reply: Ok(Reply::Done) });
        }
        return Err(Rejection::FailedPrecondition("workflow is already paused.".to_owned()));
    }
    let mut draft = run.draft(cx);
    withdraw_task(&mut draft);
    draft.record_or_buffer(Attributes::WorkflowExecutionPausedEventAttributes(
        WorkflowExecutionPausedEventAttributes {
            identity: request.identity,
            reason: request.reason,
            request_id: request.request_id,
        },
    ));
    draft.is_visible = true;
    Ok(draft.done(Reply::Done))
}

/// Withdraws a workflow task that no worker has. The history has its scheduled event, so the withdrawal is recorded
/// too.
fn withdraw_task(draft: &mut Draft<'_>) {
    let Some(task) = &draft.run.head.workflow_task else { return };
    if task.started_at != 0 || task.kind() != WorkflowTaskKind::Normal {
        return;
    }
    fail_task(
        draft,
        WorkflowTaskFailedEventAttributes {
            cause: WorkflowTaskFailedCause::WorkflowPauseRequestedBeforeTaskStarted.into(),
            identity: SERVER_IDENTITY.to_owned(),
            ..WorkflowTaskFailedEventAttributes::default()
        },
    );
}

/// Unpauses the run: offers all tasks that were withheld, and schedules a workflow task.
pub(super) fn unpause(run: &Run, request: PauseRun, cx: &Context<'_>) -> Decided {
    run.open()?;
    if run.head.paused.is_none() {
        return Err(Rejection::FailedPrecondition("workflow is not paused.".to_owned()));
    }
    let mut draft = run.draft(cx);
    draft.record_or_buffer(Attributes::WorkflowExecutionUnpausedEventAttributes(
        WorkflowExecutionUnpausedEventAttributes {
            identity: request.identity,
            reason: request.reason,
            request_id: request.request_id,
        },
    ));
    let is_waiting = |task: &perennial_proto::store::WorkflowTask| task.started_at == 0;
    if run.head.workflow_task.as_ref().is_some_and(is_waiting) {
        draft.offer_workflow_task();
    }
    draft.ensure_workflow_task();
    let waiting: Vec<i64> = (run.activities.iter())
        .filter(|(_, it)| it.started_at == 0 && it.retry_at == 0 && it.paused.is_none())
        .map(|(id, _)| *id)
        .collect();
    for id in waiting {
        draft.offer_activity(id);
    }
    draft.is_visible = true;
    Ok(draft.done(Reply::Done))
}
