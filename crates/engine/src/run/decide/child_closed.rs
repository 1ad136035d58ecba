//! A child workflow has closed: its parent records how.

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::RetryState;
use perennial_proto::temporal::history::v1::{
    ChildWorkflowExecutionCanceledEventAttributes, ChildWorkflowExecutionCompletedEventAttributes,
    ChildWorkflowExecutionFailedEventAttributes, ChildWorkflowExecutionStartedEventAttributes,
    ChildWorkflowExecutionTerminatedEventAttributes, ChildWorkflowExecutionTimedOutEventAttributes,
};

use super::receive::answer;
use super::start::execution;
use crate::run::draft::{Draft, Effect};
use crate::run::event::Attributes;
use crate::run::{Answer, Context, Decision, Reply, Run};

pub(super) fn decide(
    run: &Run,
    message: &stored::EntityMessage,
    closed: &stored::ChildClosed,
    cx: &Context<'_>,
) -> Decision {
    if !run.is_open() {
        return forward(run, message, cx);
    }
    let child = closed.child.clone().unwrap_or_default();
    let pending = run.children.get(&closed.initiated_event_id);
    let is_it = |pending: &&std::sync::Arc<stored::PendingChild>| {
        pending.run_id == child.first_run_id
            && pending.initiated.as_ref().is_some_and(|it| it.workflow_id == child.workflow_id)
    };
    let Some(pending) = pending.filter(is_it).cloned() else { return answer(Answer::Taken) };
    let mut draft = run.draft(cx);
    record_started(&mut draft, closed.initiated_event_id, &pending.run_id);
    if !record_end(&mut draft, closed) {
        return answer(Answer::Taken);
    }
    draft.ensure_workflow_task();
    draft.done(Reply::Answered(Answer::Taken))
}

/// Forwards the message to the run that a reset made of this one: it waits for the same children.
fn forward(run: &Run, message: &stored::EntityMessage, cx: &Context<'_>) -> Decision {
    if run.head.reset_run_id.is_empty() {
        return answer(Answer::Taken);
    }
    let mut forwarded = message.clone();
    forwarded.key = 0;
    forwarded.sender = Some(run.address());
    forwarded.target.get_or_insert_default().run_id.clone_from(&run.head.reset_run_id);
    let mut draft = run.draft(cx);
    draft.effects.push(Effect::Send(forwarded));
    draft.done(Reply::Answered(Answer::Taken))
}

/// Records that the child was started, unless that is recorded already. Returns whether it recorded anything.
pub(super) fn record_started(draft: &mut Draft<'_>, initiated_event_id: i64, run_id: &str) -> bool {
    let Some(child) = draft.run.children.get(&initiated_event_id) else { return false };
    let is_buffered = draft.run.buffered.values().any(|event| {
        matches!(&event.attributes, Some(Attributes::ChildWorkflowExecutionStartedEventAttributes(it)) if it.initiated_event_id == initiated_event_id)
    });
    if child.started_event_id != 0 || is_buffered {
        return false;
    }
    let initiated = child.initiated.clone().unwrap_or_default();
    draft.record_or_buffer(Attributes::ChildWorkflowExecutionStartedEventAttributes(
        ChildWorkflowExecutionStartedEventAttributes {
            namespace: initiated.namespace,
            namespace_id: initiated.namespace_id,
            initiated_event_id,
            workflow_execution: Some(execution(&initiated.workflow_id, run_id)),
            workflow_type: initiated.workflow_type,
            header: initiated.header,
        },
    ));
    true
}

/// Records how the child ended. Returns false if it didn't: a child that continues as new goes on.
fn record_end(draft: &mut Draft<'_>, closed: &stored::ChildClosed) -> bool {
    let initiated_event_id = closed.initiated_event_id;
    let Some(child) = draft.run.children.get(&initiated_event_id).cloned() else { return false };
    let initiated = child.initiated.clone().unwrap_or_default();
    let (namespace, namespace_id) = (initiated.namespace, initiated.namespace_id);
    // If the start is buffered too, the outcome gets the start's event id when both are recorded.
    let started_event_id = child.started_event_id;
    let name = closed.child.clone().unwrap_or_default();
    let workflow_execution = Some(execution(&name.workflow_id, &name.run_id));
    let workflow_type = closed.workflow_type.clone();
    let ended = match closed.close_event.clone().and_then(|event| event.attributes) {
        Some(Attributes::WorkflowExecutionCompletedEventAttributes(end)) => {
            Attributes::ChildWorkflowExecutionCompletedEventAttributes(
                ChildWorkflowExecutionCompletedEventAttributes {
                    result: end.result,
                    namespace,
                    namespace_id,
                    workflow_execution,
                    workflow_type,
                    initiated_event_id,
                    started_event_id,
                },
            )
        }
        Some(Attributes::WorkflowExecutionFailedEventAttributes(end)) => {
            Attributes::ChildWorkflowExecutionFailedEventAttributes(
                ChildWorkflowExecutionFailedEventAttributes {
                    retry_state: end.retry_state,
                    failure: end.failure,
                    namespace,
                    namespace_id,
                    workflow_execution,
                    workflow_type,
                    initiated_event_id,
                    started_event_id,
                },
            )
        }
        Some(Attributes::WorkflowExecutionCanceledEventAttributes(end)) => {
            Attributes::ChildWorkflowExecutionCanceledEventAttributes(
                ChildWorkflowExecutionCanceledEventAttributes {
                    details: end.details,
                    namespace,
                    namespace_id,
                    workflow_execution,
                    workflow_type,
                    initiated_event_id,
                    started_event_id,
                },
            )
        }
        Some(Attributes::WorkflowExecutionTimedOutEventAttributes(end)) => {
            Attributes::ChildWorkflowExecutionTimedOutEventAttributes(
                ChildWorkflowExecutionTimedOutEventAttributes {
                    retry_state: RetryState::into(end.retry_state()),
                    namespace,
                    namespace_id,
                    workflow_execution,
                    workflow_type,
                    initiated_event_id,
                    started_event_id,
                },
            )
        }
        Some(Attributes::WorkflowExecutionTerminatedEventAttributes(_)) => {
            Attributes::ChildWorkflowExecutionTerminatedEventAttributes(
                ChildWorkflowExecutionTerminatedEventAttributes {
                    namespace,
                    namespace_id,
                    workflow_execution,
                    workflow_type,
                    initiated_event_id,
                    started_event_id,
                },
            )
        }
        _ => return false,
    };
    draft.record_or_buffer(ended);
    true
}
