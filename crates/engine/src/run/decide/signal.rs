//! A signal comes.

use super::Decided;
use crate::run::event::{Attributes, event};
use crate::run::{Context, Rejection, Reply, Run, Signal};

pub(super) fn decide(run: &Run, signal: Signal, cx: &Context<'_>) -> Decided {
    run.open()?;
    let request_id = signal.attributes.request_id.clone();
    if !request_id.is_empty() && run.requests.contains_key(&request_id) {
        return Ok(run.draft(cx).done(Reply::Done));
    }
    if run.head.signal_count >= cx.limits.signals {
        return Err(Rejection::LimitExceeded(
            "exceeded workflow execution limit for signal events".into(),
        ));
    }
    let mut draft = run.draft(cx);
    let mut signaled =
        event(Attributes::WorkflowExecutionSignaledEventAttributes(signal.attributes));
    signaled.links = signal.links;
    let kind = signaled.event_type();
    draft.happen_event(signaled);
    // In the buffer it has no id yet, but its repetition must be known already.
    draft.run.remember(&request_id, kind, 0, &mut draft.touched);
    draft.want_workflow_task();
    Ok(draft.done(Reply::Done))
}
