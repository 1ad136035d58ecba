//! A client asks the workflow to cancel itself.

use perennial_proto::temporal::history::v1::WorkflowExecutionCancelRequestedEventAttributes;

use super::Decided;
use super::start::execution;
use crate::run::draft::Draft;
use crate::run::event::{Attributes, event};
use crate::run::{Context, Decision, Reply, RequestCancel, Run};

pub(super) fn decide(run: &Run, cancel: RequestCancel, cx: &Context<'_>) -> Decided {
    run.open()?;
    if run.head.cancel_requested {
        // A second request has no effect.
        return Ok(Decision { transition: None, reply: Ok(Reply::Done) });
    }
    let mut draft = run.draft(cx);
    request_cancel(&mut draft, cancel);
    Ok(draft.done(Reply::Done))
}

/// Records the request and schedules a workflow task at once, even if the first task is delayed.
pub(super) fn request_cancel(draft: &mut Draft<'_>, cancel: RequestCancel) {
    let (external, initiated) = match cancel.external {
        Some((by, id)) => (Some(execution(&by.workflow_id, &by.run_id)), id),
        None => (None, 0),
    };
    let mut requested = event(Attributes::WorkflowExecutionCancelRequestedEventAttributes(
        WorkflowExecutionCancelRequestedEventAttributes {
            cause: cancel.reason,
            external_initiated_event_id: initiated,
            external_workflow_execution: external,
            identity: cancel.identity,
        },
    ));
    requested.links = cancel.links;
    draft.run.head.cancel_request_id = cancel.request_id;
    draft.record_or_buffer_event(requested);
    draft.run.head.first_task_pending = false;
    draft.ensure_workflow_task();
}
