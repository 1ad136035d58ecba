//! Messages between entities: delivered at least once, taken once, confirmed to the sender.
//!
//! Between two that this cell owns, a message is taken in the batch that holds its cause, and so is the
//! answer: none of the three is durable without the others, and nothing need be stored of the message. What
//! isn't done when that batch is sealed, because the receiver has to be loaded or there is too much of it, is
//! stored in it like a message to another cell, and goes on from memory.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use perennial_engine::run::{self, Answer, Command, Rejection, Reply, TakeAnswer};
use perennial_engine::{EntityKey, NamespaceKey, Slot};
use perennial_proto::store::entity_message::Body;
use perennial_proto::store::{Address, EntityMessage};

use super::cache::WaitFor;
use super::request::{Incoming, Release, ReplyTo, Request, Response};
use super::{Cell, Effects, World};
use crate::api::Refusal;

/// Messages and answers handled in a step: each may lead to more, and clients are to get their turn.
const DELIVERED_AT_ONCE: usize = 1_000;

/// Messages on their way within the cell, and those it has stored.
#[derive(Default)]
pub(super) struct Mail {
    letters: VecDeque<Letter>,
    unanswered: Unanswered,
    /// A receiver is being loaded, and the batch hasn't waited for it yet.
    pub(super) waits_for_receiver: bool,
    /// The batch has waited: what isn't there by now won't hold it up.
    pub(super) has_waited: bool,
}

enum Letter {
    Message(Arc<EntityMessage>),
    Answer(Arc<EntityMessage>, Answer),
}

impl Mail {
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Whether there is enough for a step.
    pub(super) fn is_enough(&self) -> bool {
        self.letters.len() >= DELIVERED_AT_ONCE
    }

    /// A message that is in the store.
    pub(super) fn has_sent(&mut self, message: &EntityMessage) {
        self.unanswered.add(message);
    }

    /// Whether a start of the chain waits for its answer, whose end this message tells.
    pub(super) fn awaits_start_of(&self, message: &EntityMessage) -> bool {
        ended_chain(message).is_some_and(|run_id| is_among(&self.unanswered.starts, run_id))
    }
}

/// What the messages say that are stored here because they aren't answered yet: each a run id and the message's
/// key.
///
/// A start that is delivered again is known by the run that it has started. If that is deleted before its sender
/// has heard of it, the message that tells of the run's end takes its place: it stays until the sender takes it,
/// and the sender does so only when its start is answered.
#[derive(Default)]
struct Unanswered {
    /// Runs that are asked for.
    starts: BTreeSet<(String, i64)>,
    /// First runs of chains whose ends are told.
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

    /// The run that this message asks for, if that is over and its end is still to be told.
    fn ended_run<'m>(&self, message: &'m EntityMessage) -> Option<&'m str> {
        run_to_start(message).filter(|run_id| is_among(&self.ends, run_id))
    }
}

fn is_among(runs: &BTreeSet<(String, i64)>, run_id: &str) -> bool {
    let first = (run_id.to_owned(), i64::MIN);
    runs.range(first..).next().is_some_and(|(found, _)| found == run_id)
}

/// The run that a message asks for.
pub(super) fn run_to_start(message: &EntityMessage) -> Option<&str> {
    match &message.body {
        Some(Body::StartRun(start)) => Some(&start.run_id),
        _ => None,
    }
}

/// The first run of the chain whose end a message tells.
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
            self.mail.letters.push_back(Letter::Message(message));
        } else {
            self.store_message(&mut message);
            self.output.open.release(Release::Deliver(message));
        }
    }

    /// Takes messages to receivers in this cell, and their answers back.
    pub(super) fn deliver_mail(&mut self, world: &World<'_>, effects: &mut Effects) {
        for _ in 0..DELIVERED_AT_ONCE {
            let incoming = match self.mail.letters.pop_front() {
                None => return,
                Some(Letter::Message(message)) => {
                    let reply = ReplyTo::Sender(Arc::clone(&message));
                    Incoming { request: Request::Deliver { message }, reply }
                }
                Some(Letter::Answer(message, answer)) => {
                    let request = Request::TakeAnswer { message, answer };
                    Incoming { request, reply: ReplyTo::Nobody }
                }
            };
            self.ask(incoming, world, effects);
        }
    }

    /// What is on its way when the batch with its cause is sealed is stored in it.
    pub(super) fn store_mail(&mut self) {
        let mut letters = std::mem::take(&mut self.mail.letters);
        for letter in &mut letters {
            let (Letter::Message(message) | Letter::Answer(message, _)) = letter;
            self.store_message(message);
        }
        self.mail.letters = letters;
    }

    /// A request is put aside until what it is about is loaded. If it is a message of this cell's, the batch
    /// waits for it, once, and has it stored if that was in vain.
    pub(super) fn store_before_parking(&mut self, incoming: &mut Incoming) {
        let is_own = matches!(incoming.reply, ReplyTo::Sender(_));
        match &mut incoming.request {
            Request::Deliver { message } if is_own => {
                // It is given its key in place: nobody else holds it meanwhile.
                incoming.reply = ReplyTo::Nobody;
                self.store_message(message);
                incoming.reply = ReplyTo::Sender(Arc::clone(message));
                self.mail.waits_for_receiver = true;
            }
            Request::TakeAnswer { message, .. } => self.store_message(message),
            _ => {}
        }
    }

    /// Whether it is a message that can't have been delivered before: its cause is in the open batch.
    pub(super) fn is_unseen(&self, incoming: &Incoming) -> bool {
        match &incoming.reply {
            ReplyTo::Sender(sent) => sent.key == 0 || self.output.open.has_message(sent.key),
            ReplyTo::Caller(..) | ReplyTo::Then(_) | ReplyTo::Nobody => false,
        }
    }

    /// Stores a message with its cause, unless it has been.
    fn store_message(&mut self, message: &mut Arc<EntityMessage>) {
        if message.key != 0 {
            return;
        }
        Arc::make_mut(message).key = self.lease.keys().next();
        self.mail.unanswered.add(message);
        self.output.open.put_message(slot_of_sender(message), Arc::clone(message));
    }

    /// What became of a message is told to whoever is to hear it.
    pub(super) fn answer_message(&mut self, wait_for: WaitFor, reply: ReplyTo, answer: Answer) {
        match reply {
            ReplyTo::Sender(message) => {
                self.mail.letters.push_back(Letter::Answer(message, answer));
            }
            reply => {
                let answered = Box::new(Ok(Response::Answer(answer)));
                self.answer_after(wait_for, Release::Reply(reply, answered));
            }
        }
    }

    /// A message is done with.
    pub(super) fn forget_message(&mut self, message: &EntityMessage) {
        if message.key != 0 {
            self.mail.unanswered.remove(message);
            self.output.open.delete_message(message.key);
        }
    }

    /// A message has come too early: it is delivered again.
    pub(super) fn put_off(&mut self, reply: ReplyTo) {
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

    /// A message arrives for a run here. The answer leaves when what it did is durable.
    pub(super) fn receive_at_run(
        &mut self,
        key: Option<EntityKey>,
        message: &Arc<EntityMessage>,
        reply: ReplyTo,
        world: &World<'_>,
    ) {
        if self.mail.awaits_start_of(message) {
            return self.put_off(reply);
        }
        if let Some(run_id) = self.mail.unanswered.ended_run(message) {
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

    /// Starts a child, unless it runs already; `seen` is then the child.
    fn start_by_message(
        &mut self,
        seen: &mut Option<EntityKey>,
        message: &EntityMessage,
        world: &World<'_>,
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
                // The parent mustn't hear of a child that a crash could undo.
                *seen = Some(created.run.key);
                self.take_new(created, None, world);
            }
        }
        answer
    }

    /// A message of a run here was answered: it learns of it, and the message is gone, in one commit.
    pub(super) fn take_answer_at_run(
        &mut self,
        key: Option<EntityKey>,
        message: Arc<EntityMessage>,
        answer: Answer,
        reply: ReplyTo,
        world: &World<'_>,
    ) {
        self.forget_message(&message);
        if let Some(key) = key {
            let namespace = message.target.as_ref().map(|target| NamespaceKey(target.namespace));
            let namespace = namespace.and_then(|key| world.namespaces.by_key(key));
            let namespace = namespace.map(|known| known.name.clone()).unwrap_or_default();
            let taken = TakeAnswer { message, answer, namespace };
            // Refused if the run has closed meanwhile, and then there is nothing to tell it.
            let _ = self.decide(key, Command::TakeAnswer(Box::new(taken)), world);
        }
        self.output.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
    }
}
