//! Messages between runs and schedules: delivered at least once, taken once, confirmed to the sender.

use perennial_engine::run::{self, Answer, Command, Rejection, Reply, Settle};
use perennial_engine::{NamespaceKey, RunKey, Slot};
use perennial_proto::store::RunMessage;
use perennial_proto::store::run_message::Body;
use perennial_store::MessageWrite;
use prost::Message;

use super::request::{Release, ReplyTo, Response};
use super::{Cell, World};

/// Where whoever sent a message belongs.
pub(crate) fn slot_of_sender(message: &RunMessage) -> Slot {
    match (&message.from_schedule, &message.sender) {
        (Some(schedule), _) => Slot::of(NamespaceKey(schedule.namespace), &schedule.schedule_id),
        (None, Some(run)) => Slot::of(NamespaceKey(run.namespace), &run.workflow_id),
        (None, None) => Slot(0),
    }
}

impl Cell {
    /// A run or a schedule here sends a message: stored with its cause, delivered after it.
    pub(super) fn send(&mut self, mut message: RunMessage) {
        message.key = self.next_key();
        let slot = slot_of_sender(&message);
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
        let mut seen = key;
        let answer = match (&message.body, key) {
            (Some(Body::StartRun(_)), _) => self.start_by_message(&mut seen, message, world),
            (_, None) => Answer::RunNotFound,
            (_, Some(key)) => match self.decide(key, Command::Receive(Box::new(message)), world) {
                Ok(Reply::Answered(answer)) => answer,
                Ok(_) => Answer::Taken,
                Err(Rejection::LimitExceeded(_)) => Answer::TooManySignals,
                Err(_) => Answer::RunNotFound,
            },
        };
        self.answer(seen, reply, Ok(Response::Answer(answer)));
    }

    /// Starts a child, unless it runs already; `seen` is then the child.
    fn start_by_message(
        &mut self,
        seen: &mut Option<RunKey>,
        message: RunMessage,
        world: &World<'_>,
    ) -> Answer {
        let namespace = NamespaceKey(message.target.as_ref().map_or(0, |target| target.namespace));
        if world.namespaces.by_key(namespace).is_none() {
            return Answer::NamespaceNotFound;
        }
        let present = seen.and_then(|key| self.run(key));
        let decided = {
            let cx = self.context(world.now);
            run::start_by_message(present.as_deref(), &message, &cx)
        };
        let Ok((start, answer)) = decided else { return Answer::IdTaken };
        if let Some(start) = start {
            if let Some(existing) = start.existing {
                self.take(existing, false, world);
            }
            if let Some(created) = start.created {
                // The parent mustn't hear of a child that a crash could undo.
                *seen = Some(created.run.key);
                self.take_new(created, world);
            }
        }
        answer
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
