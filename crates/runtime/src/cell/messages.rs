//! Messages between runs: delivered at least once, taken once, confirmed to the sender.

use perennial_engine::run::{Answer, Command, Rejection, Reply, Settle, StartRun};
use perennial_engine::{NamespaceKey, RunKey, Slot, Span};
use perennial_proto::store::RunMessage;
use perennial_proto::store::run_message::Body;
use perennial_proto::temporal::enums::v1::WorkflowIdConflictPolicy;
use perennial_store::MessageWrite;
use prost::Message;

use super::request::{Release, ReplyTo, Response};
use super::{Cell, World};
use crate::api::Refusal;

impl Cell {
    /// A run here sends a message: stored with its cause, delivered after it.
    pub(super) fn send(&mut self, mut message: RunMessage) {
        message.key = self.next_key();
        let sender = message.sender.clone().unwrap_or_default();
        let slot = Slot::of(NamespaceKey(sender.namespace), &sender.workflow_id);
        let value = message.encode_to_vec();
        self.open.put_message(message.key, MessageWrite::Put { key: message.key, slot, value });
        self.open.release(Release::Deliver(Box::new(message)));
    }

    /// A message arrives for a run here. The answer leaves when what it did is durable.
    pub(super) fn receive(
        &mut self,
        key: Option<RunKey>,
        message: RunMessage,
        reply: ReplyTo,
        world: &World<'_>,
    ) {
        let answer = match &message.body {
            Some(Body::StartChild(_)) => self.start_child(key, message, world),
            _ => match key {
                None => Ok(Answer::RunNotFound),
                Some(key) => match self.decide(key, Command::Receive(Box::new(message)), world) {
                    Ok(Reply::Answered(answer)) => Ok(answer),
                    Ok(_) => Ok(Answer::Taken),
                    Err(Rejection::LimitExceeded(_)) => Ok(Answer::TooManySignals),
                    Err(_) => Ok(Answer::RunNotFound),
                },
            },
        };
        self.answer(key, reply, answer.map(Response::Answer));
    }

    fn start_child(
        &mut self,
        key: Option<RunKey>,
        message: RunMessage,
        world: &World<'_>,
    ) -> Result<Answer, Refusal> {
        let target = message.target.unwrap_or_default();
        let namespace = NamespaceKey(target.namespace);
        if world.namespaces.by_key(namespace).is_none() {
            return Ok(Answer::NamespaceNotFound);
        }
        let Some(Body::StartChild(child)) = message.body else { return Ok(Answer::RunNotFound) };
        let present = key.and_then(|key| self.run(key));
        if present.is_some_and(|run| run.head.run_id == child.run_id) {
            return Ok(Answer::ChildStarted(child.run_id));
        }
        let reuse_policy = child.reuse_policy();
        let start = StartRun {
            request_id: message.request_id,
            run_id: Some(child.run_id.clone()),
            started: Box::new(child.started.unwrap_or_default()),
            delay: Span::ZERO,
            reuse_policy,
            conflict_policy: terminate_if_asked(reuse_policy),
            user_metadata: None,
            links: Vec::new(),
            eager: None,
            signal: None,
            attach_links: false,
            attach_request_id: false,
        };
        match self.start(key, namespace, &target.workflow_id, start, world) {
            Ok(_) => Ok(Answer::ChildStarted(child.run_id)),
            Err(_) => Ok(Answer::ChildIdTaken),
        }
    }

    /// A message of a run here was answered: it learns of it, and the message is gone, in one commit.
    pub(super) fn settle(
        &mut self,
        key: Option<RunKey>,
        message: RunMessage,
        answer: Answer,
        reply: ReplyTo,
        world: &World<'_>,
    ) {
        let message_key = message.key;
        if let Some(key) = key {
            // Refused if the run has closed meanwhile, and then there is nothing to tell it.
            let _ = self.decide(key, Command::Settle(Box::new(Settle { message, answer })), world);
        }
        self.open.put_message(message_key, MessageWrite::Delete(message_key));
        self.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
    }
}

#[allow(deprecated, reason = "SDKs still offer it for children")]
fn terminate_if_asked(
    policy: perennial_proto::temporal::enums::v1::WorkflowIdReusePolicy,
) -> WorkflowIdConflictPolicy {
    use perennial_proto::temporal::enums::v1::WorkflowIdReusePolicy;
    match policy {
        WorkflowIdReusePolicy::TerminateIfRunning => WorkflowIdConflictPolicy::TerminateExisting,
        _ => WorkflowIdConflictPolicy::Fail,
    }
}
