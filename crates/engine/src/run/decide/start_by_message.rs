//! A start by message: a workflow starts a child, or a schedule starts a run.

use perennial_proto::store as stored;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy};

use super::start::{Start, start_from};
use crate::run::{Answer, Context, Origin, Rejection, Run, StartRun};
use crate::{NamespaceKey, Span};

/// Starts the run that `message` asks for, unless the current run forbids it. A second delivery starts nothing if
/// `current` is of the chain that the first one started; the cell looks for it.
///
/// # Errors
/// If the message doesn't start a run, or the request for it can't be valid.
pub fn start_by_message(
    current: Option<&Run>,
    message: &stored::EntityMessage,
    cx: &Context<'_>,
) -> Result<(Option<Start>, Answer), Rejection> {
    let Some(Body::StartRun(wanted)) = &message.body else {
        return Err(Rejection::InvalidArgument("this message doesn't start a run".to_owned()));
    };
    let is_started = current.is_some_and(|run| run.first_run_id() == wanted.run_id);
    if is_started {
        return Ok((None, Answer::Started(wanted.run_id.clone())));
    }
    let target = message.target.clone().unwrap_or_default();
    let conflict_policy = match wanted.reuse_policy() {
        WorkflowIdReusePolicy::TerminateIfRunning => WorkflowIdConflictPolicy::TerminateExisting,
        _ => WorkflowIdConflictPolicy::Fail,
    };
    let request = StartRun {
        request_id: message.request_id.clone(),
        run_id: Some(wanted.run_id.clone()),
        started: Box::new(wanted.started.clone().unwrap_or_default()),
        delay: Span::ZERO,
        reuse_policy: wanted.reuse_policy(),
        conflict_policy,
        user_metadata: wanted.user_metadata.clone(),
        links: Vec::new(),
        eager: None,
        signal: None,
        attach_links: false,
        attach_request_id: false,
        traceparent: String::new(),
    };
    let namespace = NamespaceKey(target.namespace);
    let sender = message.sender.as_ref();
    let parent = sender.and_then(stored::Address::run);
    let origin = Origin {
        parent_namespace: parent.map(|parent| NamespaceKey(parent.namespace)),
        schedule: sender.and_then(stored::Address::schedule),
        traceparent: String::new(),
    };
    match start_from(current, namespace, &target.id, request, origin, cx) {
        Ok(start) => Ok((Some(start), Answer::Started(wanted.run_id.clone()))),
        Err(Rejection::AlreadyStarted { .. }) => Ok((None, Answer::IdTaken)),
        Err(other) => Err(other),
    }
}
