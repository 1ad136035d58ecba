//! A workflow asks for a child: a start under the child's workflow id.

use perennial_proto::store as stored;
use perennial_proto::store::run_message::Body;
use perennial_proto::temporal::enums::v1::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy};

use super::start::{Start, start_with_parent};
use crate::run::{Answer, Context, Rejection, Run, StartRun};
use crate::{NamespaceKey, Span};

/// Starts the child that `message` asks for, as far as the run that has its workflow id, if any, allows.
/// The same message again changes nothing and is answered the same.
///
/// # Errors
/// If it isn't a message that asks for a child, or its cron string can't be read.
pub fn start_child(
    current: Option<&Run>,
    message: &stored::RunMessage,
    cx: &Context<'_>,
) -> Result<(Option<Start>, Answer), Rejection> {
    let Some(Body::StartChild(child)) = &message.body else {
        return Err(Rejection::InvalidArgument("this message starts no child".to_owned()));
    };
    let chain_is_there = current.is_some_and(|run| run.first_run_id() == child.run_id);
    if chain_is_there {
        return Ok((None, Answer::ChildStarted(child.run_id.clone())));
    }
    let sender = message.sender.clone().unwrap_or_default();
    let target = message.target.clone().unwrap_or_default();
    let conflict_policy = match child.reuse_policy() {
        WorkflowIdReusePolicy::TerminateIfRunning => WorkflowIdConflictPolicy::TerminateExisting,
        _ => WorkflowIdConflictPolicy::Fail,
    };
    let request = StartRun {
        request_id: message.request_id.clone(),
        run_id: Some(child.run_id.clone()),
        started: Box::new(child.started.clone().unwrap_or_default()),
        delay: Span::ZERO,
        reuse_policy: child.reuse_policy(),
        conflict_policy,
        user_metadata: child.user_metadata.clone(),
        links: Vec::new(),
        eager: None,
        signal: None,
        attach_links: false,
        attach_request_id: false,
    };
    let namespace = NamespaceKey(target.namespace);
    let parent = Some(NamespaceKey(sender.namespace));
    match start_with_parent(current, namespace, &target.workflow_id, request, parent, cx) {
        Ok(start) => Ok((Some(start), Answer::ChildStarted(child.run_id.clone()))),
        Err(Rejection::AlreadyStarted { .. }) => Ok((None, Answer::ChildIdTaken)),
        Err(other) => Err(other),
    }
}
