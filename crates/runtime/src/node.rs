//! The threads of a node: one for each cell, one that commits if there are several cells, two that
//! read, one that checks the store.
//!
//! One turn of each thread is a function, so the simulator calls the same functions in any order, without
//! threads ([`crate::simulation`]).

pub(crate) mod cell_loop;
mod cell_thread;
mod cells;
mod commit_watch;
pub(crate) mod commits;
mod deliveries;
mod environment;
mod evaluation_gaps;
mod failure;
pub(crate) mod inbox;
pub(crate) mod loads;
mod read_tasks;
mod recent_commits;
mod schedule_series;
mod store_health;
mod suspension;
mod traces;

pub(crate) use self::cells::{CacheSize, CellEntry, OwnedCells};
pub(crate) use self::environment::Environment;
pub use self::recent_commits::CommitTimes;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use perennial_engine::run::Limits;
use perennial_engine::{NamespaceKey, Slot, SlotRange, Time, Zones};
use perennial_proto::store::{EntityMessage, NamespaceRecord, RunName, WaitingTask};
use perennial_store::{CellId, Epoch, Lease, Store};
use perennial_telemetry::{Metrics, Tracer};
use prost::Message;
use tokio::sync::Notify;

use self::cell_loop::CellLoop;
use self::cell_thread::Helpers;
use self::commits::CommitObserver;
use self::failure::Failure;
pub(crate) use self::failure::PanicGuard;
use self::inbox::Inbox;
use self::schedule_series::ScheduleSeries;
use crate::cell::{Dispatch, Incoming, Input, Release, ReplyTo, Request, RunRequest};
use crate::clock::Monotonic;
use crate::cluster::{self, Cluster};
use crate::damage::{Damage, Damaged};
use crate::memory_limits::{Admission, Shares};
use crate::namespaces::{self, Namespaces};
use crate::queues::{Grant, Match, Queues};
use crate::{Evaluation, OpenError, RuntimeConfig};

/// Rows read from the store at a time.
const PAGE: usize = 1_000;

/// State shared by the threads of a node.
pub(crate) struct Node {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queues: Arc<Queues>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) zones: Arc<Zones>,
    pub(crate) environment: Environment,
    pub(crate) damage: Arc<Damage>,
    namespaces: RwLock<Arc<Namespaces>>,
    /// The cells that this node owns.
    pub(crate) cells: OwnedCells,
    /// Cells in the store, which share the memory for caches.
    stored_cells: usize,
    /// Names this node as the owner of its cells.
    id: String,
    /// Set if the store is shared by several nodes.
    pub(crate) cluster: Option<Arc<Cluster>>,
    /// First slots of the cells that this node is handing over.
    draining: Mutex<BTreeSet<Slot>>,
    /// Notified when the node has taken cells.
    pub(crate) cells_taken: Notify,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The threads that work for cells. Taken when the node stops.
    helpers: Mutex<Option<Helpers>>,
    /// Stops the thread that checks the store's health.
    store_checks: Mutex<Option<store_health::StopChecks>>,
    pub(crate) failure: Failure,
    /// The store's problem at the last health check, if it had one.
    store_problem: Mutex<Option<String>>,
    /// The last read from the store failed.
    reads_fail: AtomicBool,
    entities_cached: usize,
    pub(crate) shares: Shares,
    pub(crate) admission: Arc<Admission>,
    keys_per_lease: u32,
    evaluation: Evaluation,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) schedule_series: ScheduleSeries,
    pub(crate) commit_observer: CommitObserver,
    /// A commit that takes longer counts as stalled.
    commit_stalled_after: Duration,
    pub(crate) tracer: Tracer,
}

/// An entry in a cell's inbox.
pub(crate) enum ToCell {
    Input(Input),
    /// An input that is valid only under this lease: a read, or the answer to a message.
    UnderLease(Epoch, Input),
    /// The batch in flight is durable.
    Committed,
    /// The batch in flight may or may not be durable.
    CommitFailed(perennial_store::Error),
    /// A message that was sent under this lease and couldn't be delivered. The cell retries it.
    DeliverLater(Epoch, Arc<EntityMessage>),
    /// Finish the batch in flight, then end.
    Stop,
    /// Another node owns the cell: end.
    Lost,
}

impl ToCell {
    /// The cell has ended before it took the entry. Nothing of the entry has happened.
    fn refuse(self) {
        match self {
            Self::Input(Input::Asked(incoming)) | Self::UnderLease(_, Input::Asked(incoming)) => {
                incoming.reply.send(Err(crate::Refusal::Moved));
            }
            // The next owner reads the store.
            Self::Input(_)
            | Self::UnderLease(..)
            | Self::Committed
            | Self::CommitFailed(_)
            | Self::DeliverLater(..)
            | Self::Stop
            | Self::Lost => {}
        }
    }
}

impl Node {
    pub(crate) fn open(
        store: Arc<dyn Store>,
        config: &RuntimeConfig,
    ) -> Result<Arc<Self>, OpenError> {
        let (membership, wakeups) = mpsc::channel();
        let is_shared = store.cluster().is_some();
        let cluster = config.cluster.as_ref().filter(|_| is_shared);
        let cluster = cluster.map(|config| {
            let environment = Environment::System;
            let fresh = || environment.fresh_ids().next(environment.now());
            let ids = (fresh(), fresh());
            Cluster::open(&store, config, (&ids.0, &ids.1), environment.now(), membership)
        });
        let cluster = cluster.transpose()?.map(Arc::new);
        let node = Self::without_threads(store, config, Environment::System, cluster)?;
        let (loads, mut threads) = loads::start(&node)?;
        let mut helpers = Helpers { commits: None, loads };
        if node.stored_cells > 1 {
            let (commits, thread) = commits::start(&node)?;
            helpers.commits = Some(commits);
            threads.push(thread);
        }
        *lock(&node.threads) = threads;
        *lock(&node.helpers) = Some(helpers);
        match node.cluster.clone() {
            Some(cluster) => {
                let thread = cluster::start(&node, &cluster, wakeups)?;
                lock(&node.threads).push(thread);
            }
            None => {
                node.take_all_cells(config.cells)?;
                node.offer_stored_tasks(SlotRange::ALL)?;
            }
        }
        let (stop, thread) = store_health::start(&node)?;
        lock(&node.threads).push(thread);
        *lock(&node.store_checks) = Some(stop);
        Ok(node)
    }

    /// Takes every cell, whoever owned it: the only node of a store does.
    fn take_all_cells(self: &Arc<Self>, cells: Option<u32>) -> Result<(), OpenError> {
        let cells = slot_ranges(self.store.as_ref(), cells)?;
        // All inboxes are there before the first cell delivers its messages.
        let cells: Vec<_> = cells.into_iter().map(|slots| self.cells.add(slots)).collect();
        for (cell, inbox) in cells {
            let lease = self.lease_cell(cell.slots)?;
            self.start_cell(cell, inbox, lease)?;
        }
        Ok(())
    }

    /// Starts a cell that this node of a cluster has taken.
    pub(crate) fn start_taken_cell(self: &Arc<Self>, lease: Lease) -> Result<(), OpenError> {
        let (slots, (cell, inbox)) = (lease.slots, self.cells.add(lease.slots));
        let started = self.start_cell(Arc::clone(&cell), inbox, lease);
        if started.is_err() {
            self.cells.remove(&cell);
        }
        started?;
        Ok(self.offer_stored_tasks(slots)?)
    }

    /// Stops a cell and gives it up, so that another node can take it. Requests are refused from now on.
    pub(crate) fn hand_over(&self, cell: CellId) {
        let Some(cell) = self.cells.of(cell.0) else { return };
        lock(&self.draining).insert(cell.slots.first());
        if self.cells.remove(&cell) {
            cell.send(ToCell::Stop);
        }
    }

    /// A cell that was handed over has ended.
    pub(crate) fn cell_has_drained(&self, slots: SlotRange) {
        lock(&self.draining).remove(&slots.first());
    }

    /// Whether a cell is being handed over.
    pub(crate) fn is_draining(&self, first: Slot) -> bool {
        lock(&self.draining).contains(&first)
    }

    /// Cells that are being handed over.
    pub(crate) fn draining_cells(&self) -> usize {
        lock(&self.draining).len()
    }

    /// The node has taken cells: their background work goes on here.
    pub(crate) fn note_taken_cells(&self) {
        self.cells_taken.notify_one();
    }

    /// Whether the cells may serve. Not if the node's lease has ended: another node may own them.
    pub(crate) fn may_serve(&self) -> bool {
        self.cluster.as_ref().is_none_or(|cluster| cluster.may_serve(self.monotonic()))
    }

    /// Starts the thread of a cell that this node has leased.
    fn start_cell(
        self: &Arc<Self>,
        cell: Arc<CellEntry>,
        inbox: Inbox,
        lease: Lease,
    ) -> Result<(), OpenError> {
        let Some(helpers) = lock(&self.helpers).clone() else {
            let why = "the node is stopping".to_owned();
            return Err(OpenError::Store(perennial_store::Error::Unavailable(why)));
        };
        let running = CellLoop::start(self, cell, lease)?;
        let thread = cell_thread::start(self, running, inbox, helpers)?;
        let mut threads = lock(&self.threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// Makes this node the owner of a cell. [`perennial_store::Error::Fenced`] if it can't be.
    pub(crate) fn lease_cell(&self, slots: SlotRange) -> Result<Lease, perennial_store::Error> {
        let cell = CellId(slots.first());
        let Some(store) = self.cluster.as_ref().and_then(|_| self.store.cluster()) else {
            return self.store.lease(cell, &self.id);
        };
        let taken = || perennial_store::Error::Fenced("another node has taken the cell".to_owned());
        let lease = store.take_cell(cell, &self.id)?.ok_or_else(taken)?;
        // The cell was split or merged meanwhile.
        if lease.slots != slots {
            return Err(taken());
        }
        Ok(lease)
    }

    /// A node without threads and without cells. The caller adds cells and takes the turns of the threads.
    pub(crate) fn without_threads(
        store: Arc<dyn Store>,
        config: &RuntimeConfig,
        environment: Environment,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Arc<Self>, OpenError> {
        let fresh = || environment.fresh_ids().next(environment.now());
        let id = cluster.as_ref().map_or_else(fresh, |cluster| cluster.id().to_owned());
        let namespaces = Namespaces::of(namespaces::stored(store.as_ref())?, config.isolation);
        let shares = Shares::of(config.memory_budget);
        let stored_cells = match cluster {
            Some(_) => store.cells()?.len(),
            None => slot_ranges(store.as_ref(), config.cells)?.len(),
        };
        Ok(Arc::new(Self {
            store,
            queues: Arc::new(Queues::new(shares.tasks)),
            id,
            cluster,
            draining: Mutex::default(),
            cells_taken: Notify::new(),
            limits: Arc::new(config.limits.clone()),
            zones: Arc::clone(&config.zones),
            environment,
            damage: Arc::default(),
            namespaces: RwLock::new(Arc::new(namespaces)),
            cells: OwnedCells::default(),
            stored_cells,
            threads: Mutex::default(),
            helpers: Mutex::default(),
            store_checks: Mutex::default(),
            failure: Failure::default(),
            store_problem: Mutex::default(),
            reads_fail: AtomicBool::new(false),
            entities_cached: config.entities_cached,
            shares,
            admission: Admission::new(shares.requests),
            keys_per_lease: config.keys_per_lease,
            evaluation: config.evaluation,
            metrics: Arc::clone(&config.metrics),
            schedule_series: ScheduleSeries::default(),
            commit_observer: CommitObserver::new(Arc::clone(&config.metrics)),
            commit_stalled_after: config.commit_stalled_after,
            tracer: config.tracer.clone(),
        }))
    }

    /// Lets every cell commit its open batch, and ends all threads. Later requests aren't handled.
    pub(crate) fn stop(&self) {
        for cell in self.cells.all().iter() {
            cell.send(ToCell::Stop);
        }
        *lock(&self.helpers) = None;
        *lock(&self.store_checks) = None;
        if let Some(cluster) = &self.cluster {
            cluster.stop();
        }
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
        if let Some(cluster) = &self.cluster {
            cluster.remove_node();
        }
    }

    /// Reloads waiting tasks from the store after a cell has restarted.
    ///
    /// Stored tasks of other cells are reloaded too, because a queue counts its stored tasks without their cells. Tasks
    /// of other cells that aren't stored stay in memory.
    pub(crate) fn reload_tasks(&self, slots: SlotRange) -> Result<(), perennial_store::Error> {
        self.queues.forget_tasks(|task| {
            let run = task.run.as_ref();
            let slot = |run: &RunName| Slot::of(NamespaceKey(run.namespace), &run.workflow_id);
            run.is_some_and(|run| slots.contains(slot(run)))
        });
        self.offer_stored_tasks(SlotRange::ALL)
    }

    /// Puts the stored tasks of these slots into their queues, as far as this node owns them.
    pub(crate) fn offer_stored_tasks(
        &self,
        slots: SlotRange,
    ) -> Result<(), perennial_store::Error> {
        let mut after = i64::MIN;
        loop {
            let rows = self.store.tasks(slots, after, PAGE)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.key;
            for row in rows.into_iter().filter(|row| self.cells.contains(row.slot)) {
                match WaitingTask::decode(row.value.as_slice()) {
                    Ok(task) => {
                        let matched = self.queues.offer(task, true, self.monotonic());
                        self.dispatch(matched);
                    }
                    Err(error) => self.damage.report(Damaged::Task { key: row.key }, &error),
                }
            }
        }
    }

    /// The unanswered messages of the entities in these slots.
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
                    Err(error) => self.damage.report(Damaged::Message { key: row.key }, &error),
                }
            }
        }
    }

    /// The store's problem: a commit that doesn't end, or what the last health check found.
    pub(crate) fn store_problem(&self) -> Option<String> {
        let stalled = self.commit_observer.running_for();
        let stalled = stalled.filter(|time| *time > self.commit_stalled_after);
        let stalled = stalled.map(|time| {
            format!(
                "a commit has waited for the disk for {:.1} s; check the disk",
                time.as_secs_f64()
            )
        });
        let expired = || {
            let why = "the node's lease has ended, because the database didn't answer in time";
            (!self.may_serve()).then(|| why.to_owned())
        };
        stalled.or_else(|| lock(&self.store_problem).clone()).or_else(expired)
    }

    fn set_store_problem(&self, problem: Option<String>) {
        *lock(&self.store_problem) = problem;
    }

    /// The time that entities see.
    pub(crate) fn now(&self) -> Time {
        self.environment.now()
    }

    /// Real time, for polls and rates.
    pub(crate) fn monotonic(&self) -> Monotonic {
        self.environment.monotonic()
    }

    pub(crate) fn namespaces(&self) -> Arc<Namespaces> {
        Arc::clone(&self.namespaces.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_namespaces(&self, records: Vec<NamespaceRecord>) {
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        *namespaces = Arc::new(namespaces.replaced_by(records));
    }

    pub(crate) fn set_namespace(&self, record: Arc<NamespaceRecord>) {
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        *namespaces = Arc::new(namespaces.with(record));
    }

    /// Sends a request to the cell that owns its slot. Refused with [`crate::Refusal::Moved`] if another node has it.
    pub(crate) fn ask(&self, incoming: Incoming) {
        match self.cells.of(incoming.request.slot()) {
            Some(cell) => cell.send(ToCell::Input(Input::Asked(Box::new(incoming)))),
            None => self.refuse_moved(incoming),
        }
    }

    /// Refuses a request to an entity of another node. A poll that was matched with its task waits again.
    fn refuse_moved(&self, incoming: Incoming) {
        match incoming.request {
            Request::Dispatch(Dispatch::Task(_, poller) | Dispatch::Query(_, poller)) => {
                let matched = self.queues.poll_again(poller, self.monotonic());
                self.dispatch(matched);
            }
            _ => incoming.reply.send(Err(crate::Refusal::Moved)),
        }
    }

    /// Whether one of this node's cells owns the slot: background work of the slot is done here then.
    pub(crate) fn owns(&self, slot: Slot) -> bool {
        self.cells.contains(slot)
    }

    /// The first wake-up of each cell that wasn't handled in its last turn.
    pub(crate) fn next_wakes(&self) -> impl Iterator<Item = Time> {
        let cells = self.cells.all();
        let wakes: Vec<Time> = cells.iter().filter_map(|cell| cell.next_wake()).collect();
        wakes.into_iter()
    }

    /// Sends out a release of a cell that has this lease.
    pub(crate) fn release(&self, release: Release, epoch: Epoch) {
        match release {
            Release::Reply(reply, response) => reply.send(*response),
            Release::Grant(poller, grant) => {
                if let Err(grant) = poller.give(grant) {
                    self.return_grant(grant);
                }
            }
            Release::Offer { task, is_stored } => {
                let matched = self.queues.offer(task, is_stored, self.monotonic());
                self.dispatch(matched);
            }
            Release::OfferQuery(task) => {
                let matched = self.queues.offer_query(task);
                self.dispatch(matched);
            }
            Release::Repoll(poller) => {
                let matched = self.queues.poll_again(poller, self.monotonic());
                self.dispatch(matched);
            }
            Release::Deliver(message) => self.deliver(message, epoch),
            Release::Count(verdicts) => self.schedule_series.record(*verdicts, &self.metrics),
            Release::Trace(run) => traces::record_closed(self, &run),
        }
    }

    /// Undoes a release whose batch isn't durable: callers get an error, pollers wait again.
    pub(crate) fn undo_release(&self, release: Release, why: &perennial_store::Error) {
        match release {
            Release::Reply(reply, _) => reply.send(Err(crate::Refusal::from(why.clone()))),
            Release::Grant(poller, _) | Release::Repoll(poller) => {
                let matched = self.queues.poll_again(poller, self.monotonic());
                self.dispatch(matched);
            }
            // The durable ones are read from the store again.
            Release::Offer { .. } | Release::OfferQuery(_) | Release::Deliver(_) => {}
            // The times get their verdicts again.
            Release::Count(_) => {}
            // The run is still open in the store.
            Release::Trace(_) => {}
        }
    }

    /// Sends a match of a task or query with a poller to the cell of its run.
    pub(crate) fn dispatch(&self, matched: Option<Match>) {
        let dispatch = match matched {
            None => return,
            Some(Match::Task(task, poller)) => Dispatch::Task(task, poller),
            Some(Match::Query(task, poller)) => Dispatch::Query(task, poller),
        };
        let request = Request::Dispatch(dispatch);
        self.ask(Incoming::internal(request, ReplyTo::Nobody));
    }

    /// Returns a task whose poller had gone by the time the task was durable.
    fn return_grant(&self, grant: Grant) {
        use perennial_engine::run::{Command, TaskRef, TaskStamp};
        let (run, task) = match grant {
            Grant::Lent(_) => return,
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
        self.ask(Incoming::internal(request, ReplyTo::Nobody));
    }
}

/// The slots of each cell. Divides them again if the configured number of cells differs from the stored one.
pub(crate) fn slot_ranges(
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
