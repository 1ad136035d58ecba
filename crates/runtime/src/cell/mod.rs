//! A cell: owns a range of slots and handles what is asked of their entities, one request after another.
//!
//! A step is synchronous and knows no clock, disk or socket: [`Cell::step`] takes inputs and returns what is to be
//! loaded, committed and released. So the simulator runs this very code. What follows from a step leaves the cell only
//! when the batch that holds its cause is durable.
//!
//! Start reading at [`Cell::step`], then at [`Cell::handle`], which hands a request to the file of its kind.

mod cache;
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
mod run_requests;
mod schedule_requests;
mod tasks;
mod turns;
mod updates;
mod wakes;

use std::collections::VecDeque;
use std::sync::Arc;

use perennial_engine::run::{Limits, Offer};
use perennial_engine::schedule::Evaluated;
use perennial_engine::{EntityKey, EntityRef, FreshIds, Kind, SlotRange, Time, Zones};
use perennial_proto::store::EntityMessage;
use perennial_store::{Batch, Epoch, Error, LastBatch, StoredEntity, Wake};

pub(crate) use self::entity::read as read_entity;
pub(crate) use self::held_lease::KEYS_PER_LEASE_MAX;
pub(crate) use self::messages::slot_of_sender;
pub(crate) use self::request::{
    Dispatch, Incoming, Release, ReplyTo, Request, ResetFrom, Response, RunRequest,
    ScheduleRequest, WorkflowRequest,
};

use self::cache::{Cache, Resolved, Unloaded, WaitFor};
use self::held_lease::HeldLease;
use self::loading::{Loading, loaded_bytes};
use self::messages::{Mail, run_to_start};
use self::output::Output;
use self::pages::PageMemory;
use self::turns::Turns;
use self::wakes::Wakes;
use crate::Evaluation;
use crate::api::Refusal;
use crate::clock::Monotonic;
use crate::damage::{Damage, Damaged};
use crate::memory::Shares;
use crate::namespaces::Namespaces;
use crate::queues::Queues;

/// Input to [`Cell::step`].
pub(crate) enum Input {
    /// A client request, or one of the node's own.
    Asked(Box<Incoming>),
    /// An entity that the cell wanted, if there is one.
    Loaded { wanted: EntityRef, found: Result<Option<StoredEntity>, Error> },
    /// Wake-ups up to a time, or the first of them.
    WakesLoaded { up_to: Time, wakes: Vec<Wake>, is_all: bool },
    /// The store didn't answer: the cell asks for wake-ups again.
    WakesUnread,
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
            Self::WakesUnread => "wake-ups that couldn't be read".to_owned(),
        }
    }
}

/// What a step leads to.
#[derive(Default)]
pub(crate) struct Effects {
    /// Entities to read, each answered by an [`Input::Loaded`].
    pub(crate) loads: Vec<EntityRef>,
    /// Entities that the open batch waits for: they should be there in the next step.
    pub(crate) awaited_loads: Vec<EntityRef>,
    /// A batch to commit, answered by a call of [`Cell::committed`]; or the cell is begun anew.
    pub(crate) commit: Option<Batch>,
    /// What may leave now.
    pub(crate) releases: Vec<Release>,
    /// Wake-ups to read: those after the first, up to the second.
    pub(crate) load_wakes: Option<((Time, EntityKey), Time)>,
}

/// What a cell may know of the world in a step.
pub(crate) struct World<'a> {
    pub(crate) now: Time,
    pub(crate) monotonic: Monotonic,
    pub(crate) evaluated: Evaluated,
    pub(crate) queues: &'a Queues,
    pub(crate) namespaces: &'a Arc<Namespaces>,
    pub(crate) damage: &'a Damage,
}

/// What decisions depend on beside the clock and the entity.
pub(crate) struct Rules {
    pub(crate) ids: FreshIds,
    pub(crate) limits: Arc<Limits>,
    pub(crate) zones: Arc<Zones>,
}

/// How a cell is set up.
pub(crate) struct CellConfig {
    pub(crate) slots: SlotRange,
    pub(crate) epoch: Epoch,
    pub(crate) keys_per_lease: u32,
    pub(crate) rules: Rules,
    /// How many entities it keeps in memory.
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
    mail: Mail,
    /// Tasks that became ready in this step.
    offers: VecDeque<(EntityKey, Offer)>,
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
            mail: Mail::default(),
            offers: VecDeque::new(),
            rules,
        }
    }

    /// Wakes no entity from now on: for a cell that reads while nothing can be written.
    pub(crate) fn suspend(&mut self) {
        self.wakes.suspend();
    }

    /// A message of this cell's is in the store. It has to know of all of them before its first step.
    pub(crate) fn has_sent(&mut self, message: &EntityMessage) {
        self.mail.has_sent(message);
    }

    /// Handles inputs, due wake-ups and messages, and seals a batch if none is in flight.
    pub(crate) fn step(&mut self, inputs: Vec<Input>, world: &World<'_>) -> Effects {
        let mut effects = Effects::default();
        for input in inputs {
            match input {
                Input::Asked(incoming) => self.ask_in_turn(*incoming, world, &mut effects),
                Input::Loaded { wanted, found } => {
                    self.loading.loaded(loaded_bytes(&found));
                    match self.cache.loaded(&wanted, found, &self.rules.zones) {
                        Ok(waiting) => {
                            for incoming in waiting {
                                self.ask(incoming, world, &mut effects);
                            }
                        }
                        Err(unloaded) => self.try_again(&wanted, unloaded, world, &mut effects),
                    }
                }
                Input::WakesUnread => self.wakes.unread(),
                Input::WakesLoaded { up_to, wakes, is_all } => {
                    self.wakes.loaded(up_to, wakes, is_all);
                }
            }
        }
        // A batch that waited for its receivers is complete now: what came next would have it wait again.
        if !self.mail.has_waited {
            self.take_turns(world, &mut effects);
        }
        self.deliver_mail(world, &mut effects);
        self.hand_out_tasks(world);
        effects.loads = self.loading.take_next();
        effects.load_wakes = self.wakes.wanted(world.now, self.has_turns_to_take(world));
        let waits = std::mem::take(&mut self.mail.waits_for_receiver) && !self.mail.has_waited;
        if !self.output.is_in_flight() && !waits {
            self.seal(&mut effects);
        }
        self.mail.has_waited = waits;
        self.output.release_ready(&mut effects.releases);
        self.cache.evict();
        effects
    }

    /// The batch in flight is durable: what may leave now. It leaves before the next step, so that workers are at
    /// it while the cell is.
    pub(crate) fn committed(&mut self) -> Vec<Release> {
        self.cache.committed();
        self.output.committed()
    }

    /// Whether a new lease is to be taken before the next step, for more keys. While a batch is on its way none
    /// is: it would be refused.
    pub(crate) fn needs_keys(&self) -> bool {
        !self.output.is_in_flight() && self.lease.needs_keys()
    }

    /// Goes on under a new lease that follows its own. Everything in memory still holds: what isn't in the open
    /// batch is durable, and nobody else has written meanwhile.
    pub(crate) fn go_on_under(&mut self, epoch: Epoch) {
        self.lease.renew(epoch);
    }

    /// When the cell wants to be stepped again though nothing arrives.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        let is_busy = !self.mail.is_empty() || !self.turns.is_empty();
        if is_busy { Some(Time(i64::MIN)) } else { self.wakes.next() }
    }

    /// Bytes of the entities in memory.
    pub(crate) fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Whether everything it was asked is answered for.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.output.is_empty() && self.turns.is_empty()
    }

    /// The epoch of its lease.
    pub(crate) fn epoch(&self) -> Epoch {
        self.lease.epoch()
    }

    /// The batch on its way, if there is one.
    pub(crate) fn batch_in_flight(&self) -> Option<LastBatch> {
        self.output.is_in_flight().then(|| self.lease.last_batch())
    }

    /// Ends the cell: nothing that isn't durable has happened. What the batch on its way would release comes from
    /// [`Self::committed`], if it has landed.
    pub(crate) fn abandon(&mut self) -> Vec<Release> {
        let mut lost = self.output.take_all();
        let waiting = self.cache.take_waiting().into_iter();
        let replies = waiting.chain(self.turns.take_all().map(|incoming| incoming.reply));
        for reply in replies {
            let why = Refusal::Unavailable("the cell is starting again".to_owned());
            lost.push(Release::Reply(reply, Box::new(Err(why))));
        }
        lost
    }

    fn seal(&mut self, effects: &mut Effects) {
        if self.output.open.is_empty() {
            return;
        }
        self.store_mail();
        effects.commit = self.output.seal(&mut self.lease, &mut effects.releases);
        self.cache.sealed();
    }

    /// An entity couldn't be loaded. Callers ask again themselves; for what nobody asked, the cell does, unless the
    /// rows are damaged.
    fn try_again(
        &mut self,
        wanted: &EntityRef,
        unloaded: Unloaded,
        world: &World<'_>,
        effects: &mut Effects,
    ) {
        let Unloaded { waiting, why } = unloaded;
        let refusal = match &why {
            Error::Corrupt(damage) => {
                let what = Damaged::Entity(wanted.clone());
                let refusal = Refusal::Damaged(format!("{what} can't be read: {damage}"));
                world.damage.notice(what, damage);
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
                    self.park(wanted.clone(), incoming, effects);
                }
                // It was stored when it was put aside.
                ReplyTo::Sender(message) => self.output.open.release(Release::Deliver(message)),
                reply => reply.send(Err(refusal.clone())),
            }
        }
    }

    /// Puts a request aside until its entity is loaded.
    fn park(&mut self, wanted: EntityRef, mut incoming: Incoming, effects: &mut Effects) {
        self.store_before_parking(&mut incoming);
        let is_awaited = matches!(incoming.reply, ReplyTo::Sender(_));
        let is_first = self.cache.park(wanted.clone(), incoming);
        match (is_first, is_awaited) {
            (true, true) => {
                self.loading.want_now();
                effects.awaited_loads.push(wanted);
            }
            (true, false) => self.loading.want(wanted),
            (false, _) => {}
        }
    }

    /// Lets something leave when what it follows from is durable.
    fn answer_after(&mut self, wait_for: WaitFor, release: Release) {
        self.output.release_after(wait_for, release);
    }

    /// Handles a request as soon as its entity is in memory.
    fn ask(&mut self, incoming: Incoming, world: &World<'_>, effects: &mut Effects) {
        let Some(entity) = incoming.request.entity() else {
            return self.handle(None, incoming, world);
        };
        let (wanted, resolved) = self.resolve(entity, &incoming);
        match resolved {
            Resolved::Found(key) => self.handle(Some(key), incoming, world),
            Resolved::Absent => self.handle(None, incoming, world),
            Resolved::Unknown => self.park(wanted, incoming, effects),
        }
    }

    /// Finds the entity that a request is about, or the one that has to be loaded before that can be said.
    fn resolve(&mut self, entity: EntityRef, incoming: &Incoming) -> (EntityRef, Resolved) {
        // A run that is to be started may have been, under the run id its sender chose.
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
        // A reset is about two runs: the one it starts from, and the current one.
        if let Request::Run { ask: RunRequest::Reset(_), .. } = &incoming.request {
            let current = EntityRef::current(entity.id.clone());
            if let unknown @ Resolved::Unknown = self.cache.resolve(&current) {
                return (current, unknown);
            }
        }
        let resolved = self.cache.resolve(&entity);
        (entity, resolved)
    }

    /// Handles a request whose entity is in memory, or isn't there at all.
    fn handle(&mut self, key: Option<EntityKey>, incoming: Incoming, world: &World<'_>) {
        let Incoming { request, reply } = incoming;
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
