//! A cell: owns a share of the workflow ids and handles what is asked of them, one thing after another.
//!
//! A step is synchronous and knows no clock, disk or socket: [`Cell::step`] takes what has arrived and says
//! what is to be loaded, committed and released. So the simulator runs this very code. What follows from a
//! step leaves the cell only when the batch that holds its cause is durable.

mod batch;
mod cache;
mod fragments;
mod messages;
mod pages;
mod queries;
mod request;
mod resets;
mod run_steps;
mod tasks;
mod updates;
mod wakes;

use std::sync::Arc;

use perennial_engine::run::Limits;
use perennial_engine::{FreshIds, RunKey, Time, Zones};
use perennial_proto::temporal::update::v1 as update;
use perennial_store::{Batch, Epoch, StoredRun, Wake};

pub(crate) use self::cache::Wanted;
pub(crate) use self::request::{Incoming, Release, ReplyTo, Request, ResetFrom, Response};

use self::batch::OpenBatch;
use self::cache::{Cache, Resolved, Unloaded};
use self::wakes::Wakes;
use crate::api::Refusal;
use crate::namespaces::Namespaces;
use crate::queues::Queues;

/// Something for a cell to handle.
pub(crate) enum Input {
    /// Someone asks.
    Asked(Box<Incoming>),
    /// What was to be loaded.
    Loaded { wanted: Wanted, found: Result<Option<StoredRun>, String> },
    /// Wake-ups up to the asked time, or the first so many.
    WakesLoaded { up_to: Time, wakes: Vec<Wake>, is_all: bool, last: Option<(Time, RunKey)> },
    /// The store couldn't say: ask again.
    WakesUnread,
    /// The batch in flight is durable.
    Committed,
}

/// What a step leads to.
#[derive(Default)]
pub(crate) struct Effects {
    /// Runs to read, each answered by an [`Input::Loaded`].
    pub(crate) loads: Vec<Wanted>,
    /// A batch to commit, answered by an [`Input::Committed`]; or the cell is begun anew.
    pub(crate) commit: Option<Batch>,
    /// What may leave now.
    pub(crate) releases: Vec<Release>,
    /// Wake-ups to read: those after the first, up to the second.
    pub(crate) load_wakes: Option<((Time, RunKey), Time)>,
}

/// What a cell may know of the world in a step.
pub(crate) struct World<'a> {
    pub(crate) now: Time,
    pub(crate) queues: &'a Queues,
    pub(crate) namespaces: &'a Arc<Namespaces>,
}

/// See the module's documentation.
pub(crate) struct Cell {
    id: u32,
    epoch: Epoch,
    /// Of the last key made under this epoch.
    last_key: i64,
    ids: FreshIds,
    limits: Arc<Limits>,
    zones: Arc<Zones>,
    cache: Cache,
    wakes: Wakes,
    /// Memory that all pages of completions take.
    page_bytes: usize,
    open: OpenBatch,
    /// An update that comes with a start: its run's first workflow task brings it along.
    staged_update: Option<update::Request>,
    /// What saw only what is durable: it leaves at the end of the step.
    ready: Vec<Release>,
    /// What is released when the batch in flight is durable.
    in_flight: Option<Vec<Release>>,
    next_sequence: u64,
}

impl Cell {
    pub(crate) fn new(
        id: u32,
        epoch: Epoch,
        seed: u64,
        limits: Arc<Limits>,
        zones: Arc<Zones>,
        cached: usize,
    ) -> Self {
        Self {
            id,
            epoch,
            last_key: 0,
            ids: FreshIds::from_seed(seed),
            limits,
            zones,
            cache: Cache::new(cached),
            wakes: Wakes::default(),
            page_bytes: 0,
            open: OpenBatch::default(),
            staged_update: None,
            ready: Vec::new(),
            in_flight: None,
            next_sequence: 1,
        }
    }

    /// Handles what has arrived.
    pub(crate) fn step(&mut self, inputs: Vec<Input>, world: &World<'_>) -> Effects {
        let mut effects = Effects::default();
        for input in inputs {
            match input {
                Input::Asked(incoming) => self.ask(*incoming, world, &mut effects),
                Input::Loaded { wanted, found } => match self.cache.loaded(&wanted, found) {
                    Ok(waiting) => {
                        for incoming in waiting {
                            self.ask(incoming, world, &mut effects);
                        }
                    }
                    Err(unloaded) => self.try_again(&wanted, unloaded, &mut effects),
                },
                Input::WakesUnread => self.wakes.unread(),
                Input::WakesLoaded { up_to, wakes, is_all, last } => {
                    self.wakes.loaded(up_to, wakes, is_all, last);
                }
                Input::Committed => {
                    effects.releases.extend(self.in_flight.take().unwrap_or_default());
                    self.cache.committed();
                }
            }
        }
        self.wake_due(world, &mut effects);
        effects.load_wakes = self.wakes.wanted(world.now);
        if self.in_flight.is_none() {
            self.seal(&mut effects);
        }
        effects.releases.append(&mut self.ready);
        self.cache.evict();
        effects
    }

    /// When the cell wants to be stepped again though nothing arrives.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        self.wakes.next()
    }

    /// Whether everything it was asked is answered for.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.in_flight.is_none() && self.open.is_empty()
    }

    /// Ends the cell: nothing that isn't durable has happened.
    pub(crate) fn abandon(&mut self) -> Vec<Release> {
        let mut lost = self.in_flight.take().unwrap_or_default();
        lost.extend(self.open.take_releases());
        lost.append(&mut self.ready);
        for incoming in self.cache.take_parked() {
            let why = Refusal::Unavailable("the cell is starting again".to_owned());
            lost.push(Release::Reply(incoming.reply, Box::new(Err(why))));
        }
        lost
    }

    fn seal(&mut self, effects: &mut Effects) {
        if self.open.is_empty() {
            return;
        }
        let sequence = self.next_sequence;
        let (batch, releases) = self.open.seal(self.id, self.epoch, sequence);
        self.cache.sealed();
        match batch {
            Some(batch) => {
                self.next_sequence += 1;
                self.in_flight = Some(releases);
                effects.commit = Some(batch);
            }
            // Nothing to write: they needn't wait.
            None => effects.releases.extend(releases),
        }
    }

    /// A run couldn't be loaded. Callers ask again themselves; for what nobody asked, the cell does.
    fn try_again(&mut self, wanted: &Wanted, unloaded: Unloaded, effects: &mut Effects) {
        let Unloaded { waiting, why, is_damaged } = unloaded;
        for incoming in waiting {
            let is_internal = matches!(incoming.reply, ReplyTo::Nobody);
            if is_internal && !is_damaged {
                if self.cache.park(wanted.clone(), incoming) {
                    effects.loads.push(wanted.clone());
                }
            } else {
                incoming.reply.send(Err(Refusal::Unavailable(why.clone())));
            }
        }
    }

    /// A key that no one else makes: ascending within this lease, and above all earlier ones'.
    fn next_key(&mut self) -> i64 {
        self.last_key += 1;
        (self.epoch.0 << 32) | self.last_key
    }

    fn ask(&mut self, incoming: Incoming, world: &World<'_>, effects: &mut Effects) {
        match self.cache.resolve(&incoming.request) {
            Resolved::Found(key) => self.handle(Some(key), incoming, world),
            Resolved::Absent => self.handle(None, incoming, world),
            Resolved::Wanted(wanted) => {
                if self.cache.park(wanted.clone(), incoming) {
                    effects.loads.push(wanted);
                }
            }
        }
    }
}
