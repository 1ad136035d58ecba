//! Messages between entities: delivered at least once, handled once, acknowledged to the sender.
//!
//! A message between two entities of one cell, its cause and its answer are committed in one batch, so the message
//! needs no row. If the receiver has to be loaded, or the step has too many messages, the message is stored with its
//! cause like a message to another cell, and delivered from memory.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use perennial_engine::run::{self, Answer, Command, Rejection, Reply, TakeAnswer};
use perennial_engine::{EntityKey, NamespaceKey, Slot};
use perennial_proto::store::entity_message::Body;
use perennial_proto::store::{Address, EntityMessage};

use super::cache::WaitFor;
use super::request::{Incoming, Release, ReplyTo, Request, Response};
use super::{Cell, StepContext, StepResult};
use crate::api::Refusal;

/// Messages and answers handled in a step. Each may cause more, and client requests must not starve.
const DELIVERIES_PER_STEP: usize = 1_000;

/// Undelivered messages between entities of the cell, and its stored messages.
#[derive(Default)]
pub(super) struct LocalMessages {
    queue: VecDeque<Queued>,
    unanswered: Unanswered,
    /// A receiver is being loaded, and the open batch hasn't waited for it yet.
    pub(super) waits_for_receiver: bool,
    /// The open batch has waited once, and doesn't wait again.
    pub(super) has_waited: bool,
}

enum Queued {
    Message(Arc<EntityMessage>),
    Answer(Arc<EntityMessage>, Answer),
}

impl LocalMessages {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether there are enough messages for a step.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() >= DELIVERIES_PER_STEP
    }

    /// Registers a stored message.
    pub(super) fn register_sent(&mut self, message: &EntityMessage) {
        self.unanswered.add(message);
    }

    /// Whether the message reports the end of a chain whose start isn't answered yet.
    pub(super) fn awaits_start_of(&self, message: &EntityMessage) -> bool {
        ended_chain(message).is_some_and(|run_id| is_among(&self.unanswered.starts, run_id))
    }
}

/// Index of the stored, unanswered messages: pairs of run id and message key.
///
/// A repeated delivery of a start is recognised by the run it has started. If that run is deleted before the sender
/// has the answer, the message about the run's end serves instead: it stays until the sender handles it, which
/// it does only after its start is answered.
#[derive(Default)]
struct Unanswered {
    /// Runs to start.
    starts: BTreeSet<(String, i64)>,
    /// First runs of chains whose end is reported.
    ends: BTreeSet<(String, i64)>,
}

impl Unanswered {
    fn add(&mut self, message: &EntityMessage) {
        if let Some((among, run_id)) = self.place(message) {
            among.insert((run_id.to_owned(), message.key));
        }
    }

    fn remove(&mut self, message: &EntityMessage) {
        if let Some((among, run_id)) = self.place(message) {
            among.remove(&(run_id.to_owned(), message.key));
        }
    }

    fn place<'a>(
        &mut self,
        message: &'a EntityMessage,
    ) -> Option<(&mut BTreeSet<(String, i64)>, &'a str)> {
        if let Some(run_id) = run_to_start(message) {
            return Some((&mut self.starts, run_id));
        }
        ended_chain(message).map(|run_id| (&mut self.ends, run_id))
    }

    /// The run that this message starts, if it has ended and the report of its end isn't answered.
    fn ended_run<'m>(&self, message: &'m EntityMessage) -> Option<&'m str> {
        run_to_start(message).filter(|run_id| is_among(&self.ends, run_id))
    }
}

fn is_among(runs: &BTreeSet<(String, i64)>, run_id: &str) -> bool {
    let first = (run_id.to_owned(), i64::MIN);
    runs.range(first..).next().is_some_and(|(found, _)| found == run_id)
}

/// The run that a message starts.
pub(super) fn run_to_start(message: &EntityMessage) -> Option<&str> {
    match &message.body {
        Some(Body::StartRun(start)) => Some(&start.run_id),
        _ => None,
    }
}

/// The first run of the chain whose end a message reports.
fn ended_chain(message: &EntityMessage) -> Option<&str> {
    let run = match &message.body {
        Some(Body::ChildClosed(closed)) => closed.child.as_ref(),
        Some(Body::ScheduledRunClosed(closed)) => closed.run.as_ref(),
        _ => None,
    };
    run.map(|run| run.first_run_id.as_str())
}

/// The slot of a message's sender.
pub(crate) fn slot_of_sender(message: &EntityMessage) -> Slot {
    slot_of(message.sender.as_ref())
}

/// The slot of a message's receiver.
pub(crate) fn slot_of_receiver(message: &EntityMessage) -> Slot {
    slot_of(message.target.as_ref())
}

fn slot_of(address: Option<&Address>) -> Slot {
    address.map_or(Slot::CLUSTER, |it| Slot::of(NamespaceKey(it.namespace), &it.id))
}

impl Cell {
    /// An entity here sends a message.
    pub(super) fn send(&mut self, message: EntityMessage) {
        let mut message = Arc::new(message);
        if self.lease.owns(slot_of_receiver(&message)) {
            self.local_messages.queue.push_back(Queued::Message(message));
        } else {
            self.store_message(&mut message);
            self.output.open.release(Release::Deliver(message));
        }
    }

    /// Delivers messages and answers within this cell.
    pub(super) fn deliver_local_messages(
        &mut self,
        world: &StepContext<'_>,
        result: &mut StepResult,
    ) {
        for _ in 0..DELIVERIES_PER_STEP {
            let incoming = match self.local_messages.queue.pop_front() {
                None => return,
                Some(Queued::Message(message)) => {
                    let reply = ReplyTo::Sender(Arc::clone(&message));
                    Incoming::internal(Request::Deliver { message }, reply)
                }
                Some(Queued::Answer(message, answer)) => {
                    let request = Request::TakeAnswer { message, answer };
                    Incoming::internal(request, ReplyTo::Nobody)
                }
            };
            self.ask(incoming, world, result);
        }
    }

    /// Stores undelivered messages in the batch of their cause before it is sealed.
    pub(super) fn store_local_messages(&mut self) {
        let mut queue = std::mem::take(&mut self.local_messages.queue);
        for queued in &mut queue {
            let (Queued::Message(message) | Queued::Answer(message, _)) = queued;
            self.store_message(message);
        }
        self.local_messages.queue = queue;
    }

    /// Prepares a request for parking. A message of this cell is stored, and the open batch waits for its receiver
    /// once.
    pub(super) fn store_before_parking(&mut self, incoming: &mut Incoming) {
        let is_own = matches!(incoming.reply, ReplyTo::Sender(_));
        match &mut incoming.request {
            Request::Deliver { message } if is_own => {
                // Drop the other reference, so that the key is set without a copy.
                incoming.reply = ReplyTo::Nobody;
                self.store_message(message);
                incoming.reply = ReplyTo::Sender(Arc::clone(message));
                self.local_messages.waits_for_receiver = true;
            }
            Request::TakeAnswer { message, .. } => self.store_message(message),
            _ => {}
        }
    }

    /// Whether the message can't have been delivered before, because its cause is in the open batch.
    pub(super) fn is_unseen(&self, incoming: &Incoming) -> bool {
        match &incoming.reply {
            ReplyTo::Sender(sent) => sent.key == 0 || self.output.open.has_message(sent.key),
            ReplyTo::Caller(..) | ReplyTo::Then(_) | ReplyTo::Nobody => false,
        }
    }

    /// Stores a message in the open batch, unless it is stored already.
    fn store_message(&mut self, message: &mut Arc<EntityMessage>) {
        if message.key != 0 {
            return;
        }
        Arc::make_mut(message).key = self.lease.keys().next();
        self.local_messages.unanswered.add(message);
        self.output.open.put_message(slot_of_sender(message), Arc::clone(message));
    }

    /// Sends the answer to a message to its sender.
    pub(super) fn answer_message(&mut self, wait_for: WaitFor, reply: ReplyTo, answer: Answer) {
        match reply {
            ReplyTo::Sender(message) => {
                self.local_messages.queue.push_back(Queued::Answer(message, answer));
            }
            reply => {
                let answered = Box::new(Ok(Response::Answer(answer)));
                self.output.release_after(wait_for, Release::Reply(reply, answered));
            }
        }
    }

    /// Deletes an answered message.
    pub(super) fn forget_message(&mut self, message: &EntityMessage) {
        if message.key != 0 {
            self.local_messages.unanswered.remove(message);
            self.output.open.delete_message(message.key);
        }
    }

    /// Has a message delivered again later, because it arrived too early.
    pub(super) fn redeliver_later(&mut self, reply: ReplyTo) {
        match reply {
            ReplyTo::Sender(mut message) => {
                self.store_message(&mut message);
                self.output.open.release(Release::Deliver(message));
            }
            reply => {
                let why = "the start of this run isn't answered yet".to_owned();
                reply.send(Err(Refusal::Unavailable(why)));
            }
        }
    }

    /// Delivers a message to a run of this cell. The answer is sent when its result is durable.
    pub(super) fn receive_at_run(
        &mut self,
        key: Option<EntityKey>,
        message: &Arc<EntityMessage>,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        if self.local_messages.awaits_start_of(message) {
            return self.redeliver_later(reply);
        }
        let deleted = run_to_start(message).filter(|run_id| self.deleted_runs.contains(run_id));
        if let Some(run_id) = deleted.or_else(|| self.local_messages.unanswered.ended_run(message))
        {
            let started = Answer::Started(run_id.to_owned());
            return self.answer_message(WaitFor::OpenBatch, reply, started);
        }
        let mut seen = key;
        let answer = match (&message.body, key) {
            (Some(Body::StartRun(_)), _) => self.start_by_message(&mut seen, message, world),
            (_, None) => Answer::RunNotFound,
            (_, Some(key)) => {
                match self.decide(key, Command::Receive(Arc::clone(message)), world) {
                    Ok(Reply::Answered(answer)) => answer,
                    Ok(_) => Answer::Taken,
                    Err(Rejection::LimitExceeded(_)) => Answer::TooManySignals,
                    Err(_) => Answer::RunNotFound,
                }
            }
        };
        let wait_for = seen.map_or(WaitFor::Nothing, |key| self.cache.wait_for(key));
        self.answer_message(wait_for, reply, answer);
    }

    /// Starts a run for a parent or a schedule, unless it was started already. Sets `seen` to the new run, so that the
    /// answer waits for its commit.
    fn start_by_message(
        &mut self,
        seen: &mut Option<EntityKey>,
        message: &EntityMessage,
        world: &StepContext<'_>,
    ) -> Answer {
        let namespace = NamespaceKey(message.target.as_ref().map_or(0, |target| target.namespace));
        if world.namespaces.by_key(namespace).is_none() {
            return Answer::NamespaceNotFound;
        }
        let present = seen.and_then(|key| self.run(key));
        let decided = {
            let cx = self.context(world);
            run::start_by_message(present.as_deref(), message, &cx)
        };
        let Ok((start, answer)) = decided else { return Answer::IdTaken };
        if let Some(start) = start {
            if let Some(existing) = start.existing {
                self.take(existing, false, world);
            }
            if let Some(created) = start.created {
                // The answer waits until the child is durable.
                *seen = Some(created.run.key);
                self.take_new(created, None, world);
            }
        }
        answer
    }

    /// Passes an answer to the run that sent the message, and deletes the message in the same commit.
    pub(super) fn take_answer_at_run(
        &mut self,
        key: Option<EntityKey>,
        message: Arc<EntityMessage>,
        answer: Answer,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        self.forget_message(&message);
        if let Some(key) = key {
            let namespace = message.target.as_ref().map(|target| NamespaceKey(target.namespace));
            let namespace = namespace.and_then(|key| world.namespaces.by_key(key));
            let namespace = namespace.map(|known| known.name.clone()).unwrap_or_default();
            let taken = TakeAnswer { message, answer, namespace };
            // Rejected if the run has closed: then it doesn't need the answer.
            let _ = self.decide(key, Command::TakeAnswer(Box::new(taken)), world);
        }
        self.output.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
    }
}
