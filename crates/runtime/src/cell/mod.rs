//! A cell: owns a range of slots and handles the requests to their entities, one after another.
//!
//! A step is synchronous and uses no clock, disk or socket: [`Cell::step`] takes inputs and returns loads, a commit and
//! releases. So the simulator runs the same code. Replies, tasks and messages are released only when the batch with
//! their cause is durable.
//!
//! Start reading at [`Cell::step`], then at [`Cell::handle`], which hands a request to the file of its kind.

mod cache;
mod deleted_runs;
mod entity;
mod fragments;
mod held_lease;
mod loading;
mod messages;
mod open_batch;
mod output;
mod pages;
mod queries;
mod request;
mod request_size;
mod resets;
mod retention;
mod run_requests;
mod schedule_requests;
mod tasks;
mod turns;
mod updates;
mod verdicts;
mod wakes;

use std::collections::VecDeque;
use std::sync::Arc;

use perennial_engine::run::{Limits, Offer};
use perennial_engine::schedule::Evaluated;
use perennial_engine::{EntityKey, EntityRef, FreshIds, Kind, SlotRange, Time, Zones};
use perennial_proto::store::EntityMessage;
use perennial_proto::temporal::common::v1::Principal;
use perennial_store::{Batch, BatchId, Epoch, Error, StoredEntity, Wake};

pub(crate) use self::entity::read as read_entity;
pub(crate) use self::held_lease::KEYS_PER_LEASE_MAX;
pub(crate) use self::messages::{slot_of_receiver, slot_of_sender};
pub(crate) use self::request::{
    Dispatch, Incoming, Release, ReplyTo, Request, ResetFrom, Response, RunRequest,
    ScheduleRequest, WorkflowRequest,
};
pub(crate) use self::verdicts::Verdicts;

use self::cache::{Cache, LoadFailed, Resolved};
use self::deleted_runs::DeletedRuns;
use self::held_lease::HeldLease;
use self::loading::{Loading, loaded_bytes};
use self::messages::{LocalMessages, run_to_start};
use self::output::Output;
use self::pages::PageMemory;
use self::turns::Turns;
use self::wakes::Wakes;
use crate::Evaluation;
use crate::api::Refusal;
use crate::clock::Monotonic;
use crate::damage::{Damage, Damaged};
use crate::memory_limits::Shares;
use crate::namespaces::Namespaces;
use crate::node::CacheSize;
use crate::queues::Queues;

/// Input to [`Cell::step`].
pub(crate) enum Input {
    /// A client request, or one of the node's own.
    Asked(Box<Incoming>),
    /// The result of a load.
    Loaded { wanted: EntityRef, found: Result<Option<StoredEntity>, Error> },
    /// Wake-ups up to a time, or the first of them.
    WakesLoaded { up_to: Time, wakes: Vec<Wake>, is_all: bool },
    /// A read of wake-ups failed: the cell requests it again.
    WakesReadFailed,
}

impl Input {
    /// Its kind and what it is about, for the log.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Asked(incoming) => incoming.request.describe(),
            Self::Loaded { wanted: EntityRef { id, .. }, .. } => {
                format!("loaded {id}")
            }
            Self::WakesLoaded { wakes, .. } => format!("loaded {} wake-ups", wakes.len()),
            Self::WakesReadFailed => "wake-ups that couldn't be read".to_owned(),
        }
    }
}

/// Result of a step.
#[derive(Default)]
pub(crate) struct StepResult {
    /// Entities to read, each answered by an [`Input::Loaded`].
    pub(crate) loads: Vec<EntityRef>,
    /// Entities that the open batch waits for: to be loaded before the next step.
    pub(crate) awaited_loads: Vec<EntityRef>,
    /// A batch to commit, answered by a call of [`Cell::committed`]. After a failure the cell restarts.
    pub(crate) commit: Option<Batch>,
    /// Replies, tasks and messages to send now.
    pub(crate) releases: Vec<Release>,
    /// Wake-ups to read: after a position, up to a time.
    pub(crate) load_wakes: Option<((Time, EntityKey), Time)>,
}

/// Clocks, queues and namespaces that a step may use.
#[derive(Clone, Copy)]
pub(crate) struct StepContext<'a> {
    pub(crate) now: Time,
    pub(crate) monotonic: Monotonic,
    /// Since when schedules are evaluated without a gap.
    pub(crate) evaluated: Evaluated,
    pub(crate) queues: &'a Queues,
    pub(crate) namespaces: &'a Arc<Namespaces>,
    pub(crate) damage: &'a Damage,
    /// Whether closed runs are recorded in traces.
    pub(crate) is_traced: bool,
    /// Who makes the request in progress, if that is known: the events it causes carry it.
    pub(crate) principal: Option<&'a Principal>,
}

/// Id generator, limits and time zones, for decisions of the engine.
pub(crate) struct Rules {
    pub(crate) ids: FreshIds,
    pub(crate) limits: Arc<Limits>,
    pub(crate) zones: Arc<Zones>,
}

/// Counts requests by whether their entity was in memory, or had to be loaded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lookups {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

/// Configuration of a cell.
pub(crate) struct CellConfig {
    pub(crate) slots: SlotRange,
    pub(crate) epoch: Epoch,
    pub(crate) keys_per_lease: u32,
    pub(crate) rules: Rules,
    /// Entities in the cache, at most.
    pub(crate) entities_cached: usize,
    pub(crate) shares: Shares,
    pub(crate) evaluation: Evaluation,
}

/// See the module's documentation.
pub(crate) struct Cell {
    lease: HeldLease,
    rules: Rules,
    cache: Cache,
    loading: Loading,
    wakes: Wakes,
    turns: Turns,
    pages: PageMemory,
    output: Output,
    local_messages: LocalMessages,
    deleted_runs: DeletedRuns,
    /// Tasks that became ready in this step.
    offers: VecDeque<(EntityKey, Offer)>,
    /// Since they were last taken.
    lookups: Lookups,
}

impl Cell {
    pub(crate) fn new(config: CellConfig) -> Self {
        let CellConfig { slots, epoch, keys_per_lease, rules, entities_cached, shares, evaluation } =
            config;
        Self {
            lease: HeldLease::new(slots, epoch, keys_per_lease),
            cache: Cache::new(entities_cached, shares.entities),
            loading: Loading::new(shares.loads),
            wakes: Wakes::new(evaluation),
            turns: Turns::default(),
            pages: PageMemory::new(shares.pages.min(rules.limits.pages_bytes)),
            output: Output::default(),
            local_messages: LocalMessages::default(),
            deleted_runs: DeletedRuns::default(),
            offers: VecDeque::new(),
            lookups: Lookups::default(),
            rules,
        }
    }

    /// Stops wake-ups, for a suspended cell that serves only reads.
    pub(crate) fn suspend(&mut self) {
        self.wakes.suspend();
    }

    /// Registers a stored message of this cell. Called for all of them before the first step.
    pub(crate) fn register_sent(&mut self, message: &EntityMessage) {
        self.local_messages.register_sent(message);
    }

    /// Handles inputs, due wake-ups and messages, and seals the open batch, unless another is in flight or it waits for a
    /// receiver to be loaded.
    pub(crate) fn step(&mut self, inputs: Vec<Input>, world: &StepContext<'_>) -> StepResult {
        let mut result = StepResult::default();
        for input in inputs {
            match input {
                Input::Asked(incoming) => self.ask_in_turn(*incoming, world, &mut result),
                Input::Loaded { wanted, found } => {
                    self.loading.loaded(loaded_bytes(&found));
                    match self.cache.loaded(&wanted, found, &self.rules.zones) {
                        Ok(waiting) => {
                            for incoming in waiting {
                                // Counted as a miss when it was parked.
                                self.try_ask(incoming, world, &mut result);
                            }
                        }
                        Err(failed) => {
                            self.handle_load_failure(&wanted, failed, world, &mut result)
                        }
                    }
                }
                Input::WakesReadFailed => self.wakes.read_failed(),
                Input::WakesLoaded { up_to, wakes, is_all } => {
                    self.wakes.loaded(up_to, wakes, is_all);
                }
            }
        }
        // The batch has waited once and is sealed now: wake-ups and waiting responses are for the next one.
        if !self.local_messages.has_waited {
            self.take_turns(world, &mut result);
        }
        self.deliver_local_messages(world, &mut result);
        self.match_tasks(world);
        result.loads = self.loading.take_next();
        result.load_wakes = self.wakes.wanted(world.now, self.has_turns_to_take(world));
        let waits = std::mem::take(&mut self.local_messages.waits_for_receiver)
            && !self.local_messages.has_waited;
        if !self.output.is_in_flight() && !waits {
            self.seal(&mut result);
        }
        self.local_messages.has_waited = waits;
        self.output.release_ready(&mut result.releases);
        self.cache.evict();
        result
    }

    /// The batch in flight is durable. Returns its releases, to be sent before the next step, so that workers run in
    /// parallel with it.
    pub(crate) fn committed(&mut self) -> Vec<Release> {
        self.cache.committed();
        self.output.committed()
    }

    /// Whether to take a new lease before the next step, for more keys. Not while a batch is in flight: the store
    /// would reject the batch.
    pub(crate) fn needs_keys(&self) -> bool {
        !self.output.is_in_flight() && self.lease.needs_keys()
    }

    /// Continues under a new lease that follows the current one. The cache stays valid, because no other owner has
    /// written in between.
    pub(crate) fn renew_lease(&mut self, epoch: Epoch) {
        self.lease.renew(epoch);
    }

    /// When to step the cell again if no input arrives.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        let is_busy = !self.local_messages.is_empty() || !self.turns.is_empty();
        if is_busy { Some(Time(i64::MIN)) } else { self.wakes.next() }
    }

    /// The time of the first wake-up that hasn't been handled, or up to which none is known.
    pub(crate) fn first_unhandled_wake(&self) -> Option<Time> {
        self.wakes.first_unhandled()
    }

    /// The size of the cache.
    pub(crate) fn cache_size(&self) -> CacheSize {
        CacheSize { entities: self.cache.len(), bytes: self.cache.bytes() }
    }

    /// The lookups since the last call.
    pub(crate) fn take_lookups(&mut self) -> Lookups {
        std::mem::take(&mut self.lookups)
    }

    /// Bytes of the entities in memory.
    pub(crate) fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Whether no request waits for a commit or for its turn.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.output.is_empty() && self.turns.is_empty()
    }

    /// The epoch of its lease.
    pub(crate) fn epoch(&self) -> Epoch {
        self.lease.epoch()
    }

    /// The batch in flight, if there is one.
    pub(crate) fn batch_in_flight(&self) -> Option<BatchId> {
        self.output.is_in_flight().then(|| self.lease.last_batch())
    }

    /// Ends the cell. Returns the releases that are lost. If the batch in flight is stored after all, call
    /// [`Self::committed`] first for its releases.
    pub(crate) fn abandon(&mut self) -> Vec<Release> {
        let mut lost = self.output.take_all();
        let mut refuse = |reply, refusal| lost.push(Release::Reply(reply, Box::new(Err(refusal))));
        for reply in self.cache.take_waiting() {
            // The request has been handled: only the end of what it began is missing.
            let why = Refusal::Unavailable("the cell is restarting".to_owned());
            refuse(reply, why);
        }
        let parked = self.cache.take_parked().into_iter();
        for reply in parked.chain(self.turns.take_all().map(|incoming| incoming.reply)) {
            refuse(reply, Refusal::Moved);
        }
        lost
    }

    fn seal(&mut self, result: &mut StepResult) {
        if self.output.open.is_empty() {
            return;
        }
        self.store_local_messages();
        result.commit = self.output.seal(&mut self.lease, &mut result.releases);
        self.cache.sealed();
    }

    /// A load failed. Callers get an error and retry; the cell retries requests without a caller, unless the rows are
    /// damaged.
    fn handle_load_failure(
        &mut self,
        wanted: &EntityRef,
        failed: LoadFailed,
        world: &StepContext<'_>,
        result: &mut StepResult,
    ) {
        let LoadFailed { waiting, why } = failed;
        let refusal = match &why {
            Error::Corrupt(damage) => {
                let what = Damaged::Entity(wanted.clone());
                let refusal = Refusal::Damaged(format!("{what} can't be read: {damage}"));
                world.damage.report(what, damage);
                refusal
            }
            Error::Fenced(_) | Error::Conflict(_) | Error::Unavailable(_) | Error::Full(_) => {
                Refusal::from(why.clone())
            }
        };
        let is_damaged = matches!(why, Error::Corrupt(_));
        for incoming in waiting {
            match incoming.reply {
                ReplyTo::Nobody | ReplyTo::Sender(_) if !is_damaged => {
                    self.park(wanted.clone(), incoming, result);
                }
                // Delivered as if from another cell: that reports the damage, and the message stays stored.
                ReplyTo::Sender(message) => self.output.open.release(Release::Deliver(message)),
                reply => reply.send(Err(refusal.clone())),
            }
        }
    }

    /// Parks a request until its entity is loaded.
    fn park(&mut self, wanted: EntityRef, mut incoming: Incoming, result: &mut StepResult) {
        self.store_before_parking(&mut incoming);
        let is_awaited = matches!(incoming.reply, ReplyTo::Sender(_));
        let is_first = self.cache.park(wanted.clone(), incoming);
        match (is_first, is_awaited) {
            (true, true) => {
                self.loading.count_immediate();
                result.awaited_loads.push(wanted);
            }
            (true, false) => self.loading.enqueue(wanted),
            (false, _) => {}
        }
    }

    /// Handles a request, or parks it until its entity is loaded.
    fn ask(&mut self, incoming: Incoming, world: &StepContext<'_>, result: &mut StepResult) {
        match self.try_ask(incoming, world, result) {
            true => self.lookups.hits += 1,
            false => self.lookups.misses += 1,
        }
    }

    /// Handles a request and returns true, or parks it until its entity is loaded.
    fn try_ask(
        &mut self,
        incoming: Incoming,
        world: &StepContext<'_>,
        result: &mut StepResult,
    ) -> bool {
        let Some(entity) = incoming.request.entity() else {
            self.handle(None, incoming, world);
            return true;
        };
        let (wanted, resolved) = self.resolve(entity, &incoming);
        match resolved {
            Resolved::Found(key) => self.handle(Some(key), incoming, world),
            Resolved::Absent => self.handle(None, incoming, world),
            Resolved::Unknown => {
                self.park(wanted, incoming, result);
                return false;
            }
        }
        true
    }

    /// Finds the entity of a request, or the entity to load first.
    fn resolve(&mut self, entity: EntityRef, incoming: &Incoming) -> (EntityRef, Resolved) {
        // An earlier delivery may have started the run, under the run id its sender chose.
        if let Request::Deliver { message } = &incoming.request
            && let Some(run_id) = run_to_start(message)
            && !self.is_unseen(incoming)
        {
            let started = EntityRef { id: entity.id.clone(), run_id: Some(run_id.to_owned()) };
            match self.cache.resolve(&started) {
                Resolved::Absent => {}
                known @ (Resolved::Found(_) | Resolved::Unknown) => return (started, known),
            }
        }
        // A reset needs two runs: the one it starts from, and the current one.
        if let Request::Run { ask: RunRequest::Reset(_), .. } = &incoming.request {
            let current = EntityRef::current(entity.id.clone());
            if let unknown @ Resolved::Unknown = self.cache.resolve(&current) {
                return (current, unknown);
            }
        }
        let resolved = self.cache.resolve(&entity);
        (entity, resolved)
    }

    /// Handles a request whose entity is in memory or doesn't exist.
    fn handle(&mut self, key: Option<EntityKey>, incoming: Incoming, world: &StepContext<'_>) {
        match incoming.reply.times().cloned() {
            None => self.handle_untraced(key, incoming, world),
            Some(times) => {
                times.begin();
                self.handle_untraced(key, incoming, world);
                times.handled();
            }
        }
    }

    fn handle_untraced(
        &mut self,
        key: Option<EntityKey>,
        incoming: Incoming,
        world: &StepContext<'_>,
    ) {
        let Incoming { request, reply, principal } = incoming;
        let world = &StepContext { principal: principal.as_deref(), ..*world };
        match request {
            Request::Workflow { id, ask } => self.handle_workflow(key, &id, ask, reply, world),
            Request::Run { target, ask } => self.handle_run(key, &target, ask, reply, world),
            Request::Dispatch(Dispatch::Task(task, poller)) => {
                self.start_waiting(key, task, poller, world);
            }
            Request::Dispatch(Dispatch::Query(task, poller)) => self.take_query(key, task, poller),
            Request::Schedule { target, ask } => {
                self.handle_schedule(key, &target, ask, reply, world);
            }
            Request::Wake { key: of, entity } => {
                // A later schedule of the same id has its own wake-up.
                let Some(key) = key.filter(|key| *key == of) else { return };
                match entity.id.kind {
                    Kind::Run => self.wake_run(key, world),
                    Kind::Schedule => self.wake_schedule(key, world),
                }
            }
            Request::Deliver { message } => {
                let target = message.target.as_ref();
                match target.map_or(Kind::Run, Kind::of) {
                    Kind::Run => {
                        let chain = target.map_or("", |target| target.first_run_id.as_str());
                        let meant = key.filter(|key| self.is_of_chain(*key, chain));
                        self.receive_at_run(meant, &message, reply, world);
                    }
                    Kind::Schedule => self.receive_at_schedule(key, &message, reply, world),
                }
            }
            Request::TakeAnswer { message, answer } => {
                match message.sender.as_ref().map_or(Kind::Run, Kind::of) {
                    Kind::Run => self.take_answer_at_run(key, message, answer, reply, world),
                    Kind::Schedule => {
                        self.take_answer_at_schedule(key, message, answer, reply, world);
                    }
                }
            }
            Request::PutRecord { record, .. } => {
                self.output.open.put_record(record);
                self.output.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
            }
        }
    }
}
