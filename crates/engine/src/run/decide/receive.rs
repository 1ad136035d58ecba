//! A message from another entity. Delivering a message twice changes nothing and gives the same answer.

use perennial_proto::store as stored;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::ParentClosePolicy;

use super::child_closed;
use super::request_cancel::request_cancel;
use super::signal::{is_repeated, signal};
use super::terminate::terminate;
use super::{Decided, SERVER_IDENTITY, scheduler_identity};
use crate::run::{
    Answer, Context, Decision, Rejection, Reply, RequestCancel, Run, Signal, Terminate,
};

pub(super) fn decide(run: &Run, message: &stored::EntityMessage, cx: &Context<'_>) -> Decided {
    let sender = message.sender.as_ref().and_then(stored::Address::run).unwrap_or_default();
    match message.body.clone() {
        Some(Body::Signal(body)) => Ok(take_signal(run, &sender, body, cx)),
        Some(Body::Cancel(body)) => Ok(take_cancel(run, message, &sender, body, cx)),
        Some(Body::ChildClosed(body)) => Ok(child_closed::decide(run, message, &body, cx)),
        Some(Body::ParentClosed(body)) => Ok(parent_closed(run, message, &sender, &body, cx)),
        Some(Body::Terminate(body)) => Ok(take_terminate(run, message, body, cx)),
        Some(Body::StartRun(_) | Body::ScheduledRunClosed(_)) | None => {
            Err(Rejection::InvalidArgument("this message isn't for an existing run".to_owned()))
        }
    }
}

/// An answer without a transition.
pub(super) fn answer(answer: Answer) -> Decision {
    Decision { transition: None, reply: Ok(Reply::Answered(answer)) }
}

fn take_signal(
    run: &Run,
    sender: &stored::RunName,
    body: stored::SignalRun,
    cx: &Context<'_>,
) -> Decision {
    let attributes = body.signal.unwrap_or_default();
    if is_repeated(run, &attributes.request_id) {
        return answer(Answer::Taken);
    }
    if !run.is_open() || is_itself(run, sender) || (body.child_only && !is_parent(run, sender)) {
        return answer(Answer::RunNotFound);
    }
    if run.head.signal_count >= cx.limits.signals {
        return answer(Answer::TooManySignals);
    }
    let mut draft = run.draft(cx);
    signal(&mut draft, Signal { attributes, links: Vec::new() });
    draft.done(Reply::Answered(Answer::Taken))
}

fn take_cancel(
    run: &Run,
    message: &stored::EntityMessage,
    sender: &stored::RunName,
    body: stored::CancelRun,
    cx: &Context<'_>,
) -> Decision {
    if is_itself(run, sender) {
        return answer(Answer::RunNotFound);
    }
    // A closed run needs no cancellation: the request succeeds.
    if !run.is_open() {
        return answer(Answer::Taken);
    }
    if body.child_only && !is_parent(run, sender) {
        return answer(Answer::RunNotFound);
    }
    if run.head.cancel_requested {
        return answer(Answer::Taken);
    }
    let mut draft = run.draft(cx);
    let external = message.sender.as_ref().and_then(stored::Address::run);
    let cancel = RequestCancel {
        request_id: message.request_id.clone(),
        reason: body.reason,
        identity: identity_of(message),
        external: external.map(|sender| (sender, body.initiated_event_id)),
        links: Vec::new(),
    };
    request_cancel(&mut draft, cancel);
    draft.done(Reply::Answered(Answer::Taken))
}

/// Terminates the run for a schedule's overlap policy.
fn take_terminate(
    run: &Run,
    message: &stored::EntityMessage,
    body: stored::TerminateRun,
    cx: &Context<'_>,
) -> Decision {
    if !run.is_open() {
        return answer(Answer::Taken);
    }
    let mut draft = run.draft(cx);
    let request =
        Terminate { reason: body.reason, identity: identity_of(message), ..Terminate::default() };
    terminate(&mut draft, request);
    draft.done(Reply::Answered(Answer::Taken))
}

fn identity_of(message: &stored::EntityMessage) -> String {
    match message.sender.as_ref().and_then(stored::Address::schedule) {
        Some(schedule) => scheduler_identity(&schedule.schedule_id),
        None => SERVER_IDENTITY.to_owned(),
    }
}

/// The parent has closed: its parent close policy applies to this child.
fn parent_closed(
    run: &Run,
    message: &stored::EntityMessage,
    sender: &stored::RunName,
    body: &stored::ParentClosed,
    cx: &Context<'_>,
) -> Decision {
    // The chain identifies the child. The parent may have been reset since, and have another run id.
    let chain = message.target.as_ref().map_or("", |target| target.first_run_id.as_str());
    let parent = run.started.parent_workflow_execution.as_ref();
    let is_child = run.first_run_id() == chain
        && parent.is_some_and(|parent| parent.workflow_id == sender.workflow_id);
    if !run.is_open() || !is_child {
        return answer(Answer::Taken);
    }
    let mut draft = run.draft(cx);
    match body.policy() {
        ParentClosePolicy::Abandon => return answer(Answer::Taken),
        ParentClosePolicy::RequestCancel if run.head.cancel_requested => {
            return answer(Answer::Taken);
        }
        ParentClosePolicy::RequestCancel => {
            let cancel = RequestCancel {
                request_id: message.request_id.clone(),
                identity: SERVER_IDENTITY.to_owned(),
                external: Some((sender.clone(), 0)),
                ..RequestCancel::default()
            };
            request_cancel(&mut draft, cancel);
        }
        ParentClosePolicy::Terminate | ParentClosePolicy::Unspecified => {
            let request = Terminate {
                reason: "by parent close policy".to_owned(),
                identity: SERVER_IDENTITY.to_owned(),
                ..Terminate::default()
            };
            terminate(&mut draft, request);
        }
    }
    draft.done(Reply::Answered(Answer::Taken))
}

fn is_itself(run: &Run, sender: &stored::RunName) -> bool {
    run.head.namespace == sender.namespace && run.head.workflow_id == sender.workflow_id
}

fn is_parent(run: &Run, sender: &stored::RunName) -> bool {
    run.head.parent_namespace == sender.namespace
        && run.started.parent_workflow_execution.as_ref().is_some_and(|parent| {
            parent.workflow_id == sender.workflow_id && parent.run_id == sender.run_id
        })
}
