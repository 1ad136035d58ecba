//! A signal for the workflow.

use super::Decided;
use crate::run::draft::Draft;
use crate::run::event::{Attributes, event};
use crate::run::{Context, Decision, Rejection, Reply, Run, Signal};

pub(super) fn decide(run: &Run, request: Signal, cx: &Context<'_>) -> Decided {
    run.open()?;
    if is_repeated(run, &request.attributes.request_id) {
        return Ok(Decision { transition: None, reply: Ok(Reply::Done) });
    }
    check_count(run, cx)?;
    let mut draft = run.draft(cx);
    signal(&mut draft, request);
    Ok(draft.done(Reply::Done))
}

/// Whether the request took effect before.
pub(super) fn is_repeated(run: &Run, request_id: &str) -> bool {
    !request_id.is_empty() && run.requests.contains_key(request_id)
}

/// Checks that the run may take one more signal.
pub(super) fn check_count(run: &Run, cx: &Context<'_>) -> Result<(), Rejection> {
    if run.head.signal_count < cx.limits.signals {
        return Ok(());
    }
    Err(Rejection::LimitExceeded(format!(
        "exceeded workflow execution limit for signal events ({}): have the workflow continue as new \
         before it has as many, or raise the setting history.maximumSignalsPerExecution",
        cx.limits.signals
    )))
}

/// Records the signal and schedules a workflow task.
pub(super) fn signal(draft: &mut Draft<'_>, signal: Signal) {
    let request_id = signal.attributes.request_id.clone();
    let mut signaled =
        event(Attributes::WorkflowExecutionSignaledEventAttributes(signal.attributes));
    signaled.links = signal.links;
    let kind = signaled.event_type();
    let is_buffered = draft.has_started_task();
    draft.record_or_buffer_event(signaled);
    if is_buffered {
        // A buffered signal has no event id yet, but retries of its request must be recognised already.
        draft.run.remember(&request_id, kind, 0, &mut draft.touched);
    }
    draft.ensure_workflow_task();
}
