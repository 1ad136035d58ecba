//! The threads of a node: one for each cell, one that commits for several cells, a few that read.
//!
//! What a thread does in one turn is a function of its own, so a simulated world takes the same turns in an
//! order of its choice, without threads ([`crate::simulation`]).

mod attendance;
pub(crate) mod cell_loop;
mod cell_thread;
pub(crate) mod commits;
mod failure;
pub(crate) mod loads;
mod read_tasks;
mod surroundings;
mod suspension;
mod watch;

pub(crate) use self::surroundings::Surroundings;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use perennial_engine::run::Limits;
use perennial_engine::{NamespaceKey, Slot, SlotRange, Time, Zones};
use perennial_proto::store::{EntityMessage, NamespaceRecord, RunName, WaitingTask};
use perennial_store::{Epoch, Store};
use prost::Message;

use self::cell_thread::Helpers;
use self::failure::Failure;
use crate::cell::{
    Dispatch, Incoming, Input, Release, ReplyTo, Request, Response, RunRequest, slot_of_sender,
};
use crate::clock::Monotonic;
use crate::damage::{Damage, Damaged};
use crate::memory::{Door, Shares};
use crate::namespaces::{self, Namespaces};
use crate::queues::{Grant, Match, Queues};
use crate::{Evaluation, OpenError, RuntimeConfig};

/// Rows read from the store at a time.
const PAGE: usize = 1_000;

/// What the threads of a node share.
pub(crate) struct Node {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queues: Queues,
    pub(crate) limits: Arc<Limits>,
    pub(crate) zones: Arc<Zones>,
    pub(crate) surroundings: Surroundings,
    pub(crate) damage: Arc<Damage>,
    namespaces: RwLock<Arc<Namespaces>>,
    cells: Vec<CellInbox>,
    /// Names this node as the owner of its cells.
    id: String,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Ends the thread that looks after the store.
    watching: Mutex<Option<watch::StopWatching>>,
    pub(crate) failure: Failure,
    /// What keeps the store from its work, as it was a second ago.
    store_problem: Mutex<Option<String>>,
    /// The last reading of the store failed.
    reads_fail: AtomicBool,
    entities_cached: usize,
    pub(crate) shares: Shares,
    pub(crate) door: Arc<Door>,
    keys_per_lease: u32,
    evaluation: Evaluation,
}

/// A cell of this node: its slots, and where what it is told goes.
struct CellInbox {
    slots: SlotRange,
    inbox: mpsc::Sender<ToCell>,
}

/// What a cell's thread is told.
pub(crate) enum ToCell {
    Input(Input),
    /// What is of use only under this lease: what was read for the cell, and what became of its messages.
    UnderLease(Epoch, Input),
    /// The batch in flight is durable.
    Committed,
    /// The batch in flight may or may not be durable.
    CommitFailed(perennial_store::Error),
    /// A message that was sent under this lease and couldn't be delivered: again in a moment.
    DeliverLater(Epoch, Arc<EntityMessage>),
    /// Finish what is in flight, then end.
    Stop,
}

impl Node {
    pub(crate) fn open(
        store: Arc<dyn Store>,
        config: &RuntimeConfig,
    ) -> Result<Arc<Self>, OpenError> {
        let (node, inboxes) = Self::without_threads(store, config, Surroundings::System)?;
        let (loads, mut threads) = loads::start(&node)?;
        let mut helpers = Helpers { commits: None, loads };
        if inboxes.len() > 1 {
            let (commits, thread) = commits::start(&node)?;
            helpers.commits = Some(commits);
            threads.push(thread);
        }
        for (index, inbox) in inboxes.into_iter().enumerate() {
            threads.push(cell_thread::start(&node, index, inbox, helpers.clone())?);
        }
        let (stop, thread) = watch::start(&node)?;
        threads.push(thread);
        *lock(&node.watching) = Some(stop);
        *lock(&node.threads) = threads;
        node.offer_stored_tasks()?;
        Ok(node)
    }

    /// A node in which nothing happens before someone takes turns for its threads, and what arrives for each
    /// of its cells.
    pub(crate) fn without_threads(
        store: Arc<dyn Store>,
        config: &RuntimeConfig,
        surroundings: Surroundings,
    ) -> Result<(Arc<Self>, Vec<mpsc::Receiver<ToCell>>), OpenError> {
        let (cells, inboxes): (Vec<_>, Vec<_>) = slot_ranges(store.as_ref(), config.cells)?
            .into_iter()
            .map(|slots| {
                let (inbox, arrived) = mpsc::channel();
                (CellInbox { slots, inbox }, arrived)
            })
            .unzip();
        let namespaces = Namespaces::of(namespaces::stored(store.as_ref())?);
        let shares = Shares::of(config.memory_budget);
        let node = Arc::new(Self {
            store,
            queues: Queues::new(shares.tasks),
            id: surroundings.fresh_ids().next(surroundings.now()),
            limits: Arc::new(config.limits.clone()),
            zones: Arc::clone(&config.zones),
            surroundings,
            damage: Arc::default(),
            namespaces: RwLock::new(Arc::new(namespaces)),
            cells,
            threads: Mutex::default(),
            watching: Mutex::default(),
            failure: Failure::default(),
            store_problem: Mutex::default(),
            reads_fail: AtomicBool::new(false),
            entities_cached: config.entities_cached,
            shares,
            door: Door::new(shares.requests),
            keys_per_lease: config.keys_per_lease,
            evaluation: config.evaluation,
        });
        Ok((node, inboxes))
    }

    /// Lets every cell finish what it has begun, and ends all threads. Nothing is handled afterwards.
    pub(crate) fn stop(&self) {
        for cell in &self.cells {
            let _ = cell.inbox.send(ToCell::Stop);
        }
        *lock(&self.watching) = None;
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }

    /// Brings back the tasks for workers that a cell left in the store.
    ///
    /// Other cells' tasks are read again too: how many of those in the store are whose isn't known here. Tasks that
    /// another cell has at hand and that aren't stored stay.
    pub(crate) fn restore(&self, slots: SlotRange) -> Result<(), perennial_store::Error> {
        self.queues.forget_tasks(|task| {
            let run = task.run.as_ref();
            let slot = |run: &RunName| Slot::of(NamespaceKey(run.namespace), &run.workflow_id);
            run.is_some_and(|run| slots.contains(slot(run)))
        });
        self.offer_stored_tasks()
    }

    /// Offers every task that is in the store.
    pub(crate) fn offer_stored_tasks(&self) -> Result<(), perennial_store::Error> {
        let mut after = i64::MIN;
        loop {
            let rows = self.store.tasks(SlotRange::ALL, after, PAGE)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.key;
            for row in rows {
                match WaitingTask::decode(row.value.as_slice()) {
                    Ok(task) => {
                        let met = self.queues.offer(task, true, self.monotonic());
                        self.dispatch(met);
                    }
                    Err(error) => self.damage.notice(Damaged::Task { key: row.key }, &error),
                }
            }
        }
    }

    /// The messages that entities in these slots have sent and that aren't answered.
    fn stored_messages(
        &self,
        slots: SlotRange,
    ) -> Result<Vec<EntityMessage>, perennial_store::Error> {
        let mut messages = Vec::new();
        let mut after = i64::MIN;
        loop {
            let rows = self.store.messages(slots, after, PAGE)?;
            let Some(last) = rows.last() else { return Ok(messages) };
            after = last.key;
            for row in rows {
                match EntityMessage::decode(row.value.as_slice()) {
                    Ok(message) => messages.push(message.with_addresses()),
                    Err(error) => self.damage.notice(Damaged::Message { key: row.key }, &error),
                }
            }
        }
    }

    /// What keeps the store from its work, if anything does.
    pub(crate) fn store_problem(&self) -> Option<String> {
        lock(&self.store_problem).clone()
    }

    fn set_store_problem(&self, problem: Option<String>) {
        *lock(&self.store_problem) = problem;
    }

    /// The time that entities see.
    pub(crate) fn now(&self) -> Time {
        self.surroundings.now()
    }

    /// Real time, for polls and rates.
    pub(crate) fn monotonic(&self) -> Monotonic {
        self.surroundings.monotonic()
    }

    pub(crate) fn namespaces(&self) -> Arc<Namespaces> {
        Arc::clone(&self.namespaces.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_namespace(&self, record: Arc<NamespaceRecord>) {
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        *namespaces = Arc::new(namespaces.with(record));
    }

    /// Gives a request to the cell that owns its slot.
    pub(crate) fn ask(&self, incoming: Incoming) {
        let cell = self.cell_of(incoming.request.slot());
        self.tell(cell, ToCell::Input(Input::Asked(Box::new(incoming))));
    }

    /// The cell that owns a slot: each has a range of them.
    pub(crate) fn cell_of(&self, slot: Slot) -> usize {
        self.cells.partition_point(|cell| cell.slots.last() < slot)
    }

    /// How many cells this node has.
    pub(crate) fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// The slots of one of its cells.
    pub(crate) fn slots_of(&self, cell: usize) -> SlotRange {
        self.cells.get(cell).map_or(SlotRange::ALL, |cell| cell.slots)
    }

    /// A cell that has ended is told nothing: what it owned waits in the store.
    pub(crate) fn tell(&self, cell: usize, what: ToCell) {
        if let Some(cell) = self.cells.get(cell) {
            let _ = cell.inbox.send(what);
        }
    }

    /// Lets something leave a cell, which has this lease.
    pub(crate) fn release(&self, release: Release, epoch: Epoch) {
        match release {
            Release::Reply(reply, response) => reply.send(*response),
            Release::Grant(poller, grant) => {
                if let Err(grant) = poller.give(grant) {
                    self.undo(grant);
                }
            }
            Release::Offer { task, is_stored } => {
                let met = self.queues.offer(task, is_stored, self.monotonic());
                self.dispatch(met);
            }
            Release::OfferQuery(task) => {
                let met = self.queues.offer_query(task);
                self.dispatch(met);
            }
            Release::Repoll(poller) => {
                let met = self.queues.poll_again(poller, self.monotonic());
                self.dispatch(met);
            }
            Release::Deliver(message) => self.deliver(message, epoch),
        }
    }

    /// What would have left isn't durable: callers ask again, pollers wait on.
    pub(crate) fn take_back(&self, release: Release, why: &perennial_store::Error) {
        match release {
            Release::Reply(reply, _) => reply.send(Err(crate::Refusal::from(why.clone()))),
            Release::Grant(poller, _) | Release::Repoll(poller) => {
                let met = self.queues.poll_again(poller, self.monotonic());
                self.dispatch(met);
            }
            // Whatever is durable of these is read from the store again.
            Release::Offer { .. } | Release::OfferQuery(_) | Release::Deliver(_) => {}
        }
    }

    /// Hands a task or a query that met a poller to the cell of its run.
    pub(crate) fn dispatch(&self, met: Option<Match>) {
        let dispatch = match met {
            None => return,
            Some(Match::Task(task, poller)) => Dispatch::Task(task, poller),
            Some(Match::Query(task, poller)) => Dispatch::Query(task, poller),
        };
        let request = Request::Dispatch(dispatch);
        self.ask(Incoming { request, reply: ReplyTo::Nobody });
    }

    /// The poller was gone when its task was durable.
    fn undo(&self, grant: Grant) {
        use perennial_engine::run::{Command, TaskRef, TaskStamp};
        let (run, task) = match grant {
            Grant::Workflow(grant) => {
                if grant.query.is_some() {
                    return;
                }
                let Some(task) = &grant.run.head.workflow_task else { return };
                let stamp = TaskStamp::from(task);
                (grant.run, TaskRef::Workflow(stamp))
            }
            Grant::Activity(grant) => {
                let activity = grant.run.activities.get(&grant.scheduled_event_id);
                let Some(activity) = activity else { return };
                let stamp = TaskStamp::from(&**activity);
                (grant.run, TaskRef::Activity(stamp))
            }
        };
        let ask = RunRequest::Command(Command::UndoStart(task));
        let request = Request::Run { target: run.name(), ask };
        self.ask(Incoming { request, reply: ReplyTo::Nobody });
    }
}

impl Node {
    /// Takes a message to its receiver, and the answer back to its sender's cell if that still has this lease.
    ///
    /// A cell that begins anew has its messages delivered again. It mustn't hear two answers to one: a start that
    /// was refused the first time may find nothing in its way the second time.
    pub(crate) fn deliver(&self, message: Arc<EntityMessage>, epoch: Epoch) {
        let cell_of_sender = self.cells.get(self.cell_of(slot_of_sender(&message)));
        let cell_of_sender = cell_of_sender.map(|cell| cell.inbox.clone());
        let sent = Arc::clone(&message);
        let damage = Arc::clone(&self.damage);
        let reply = ReplyTo::Then(Box::new(move |answer: Result<Response, crate::Refusal>| {
            let back = match answer {
                Ok(Response::Answer(answer)) => {
                    let request = Request::TakeAnswer { message: sent, answer };
                    let incoming = Incoming { request, reply: ReplyTo::Nobody };
                    ToCell::UnderLease(epoch, Input::Asked(Box::new(incoming)))
                }
                // Trying again and again wouldn't repair the receiver. The message stays in the store.
                Err(crate::Refusal::Damaged(why)) => {
                    return damage.notice(Damaged::Message { key: sent.key }, &why);
                }
                Ok(_) | Err(_) => ToCell::DeliverLater(epoch, sent),
            };
            if let Some(cell) = cell_of_sender {
                let _ = cell.send(back);
            }
        }));
        self.ask(Incoming { request: Request::Deliver { message }, reply });
    }
}

/// The slots of each cell, after dividing them if another number of cells is wanted.
fn slot_ranges(
    store: &dyn Store,
    wanted: Option<u32>,
) -> Result<Vec<SlotRange>, perennial_store::Error> {
    let stored = || Ok(store.cells()?.into_iter().map(|cell| cell.slots).collect());
    let Some(wanted) = wanted.map(SlotRange::divided) else { return stored() };
    if stored()? != wanted {
        store.divide(&wanted)?;
    }
    Ok(wanted)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
