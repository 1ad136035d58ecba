//! A cell: owns a share of the workflow ids and schedule ids and handles what is asked of them, one thing after another.
//!
//! A step is synchronous and knows no clock, disk or socket: [`Cell::step`] takes what has arrived and says
//! what is to be loaded, committed and released. So the simulator runs this very code. What follows from a
//! step leaves the cell only when the batch that holds its cause is durable.

mod batch;
mod cache;
mod fragments;
mod loading;
mod messages;
mod pages;
mod queries;
mod request;
mod request_size;
mod resets;
mod run_steps;
mod schedule_cache;
mod schedules;
mod tasks;
mod turns;
mod updates;
mod wakes;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use perennial_engine::run::{Limits, Offer};
use perennial_engine::schedule::Evaluated;
use perennial_engine::{FreshIds, FreshKeys, RunKey, Slot, Time, Zones};
use perennial_proto::store::RunMessage;
use perennial_proto::temporal::update::v1 as update;
use perennial_store::{Batch, Epoch, Error, LastBatch, StoredRun, StoredSchedule, Wake};

pub(crate) use self::cache::WantedRun;
pub(crate) use self::messages::slot_of_sender;
pub(crate) use self::request::{Incoming, Release, ReplyTo, Request, ResetFrom, Response};
pub(crate) use self::schedule_cache::{ScheduleId, read as read_schedule};

use self::batch::OpenBatch;
use self::cache::{Cache, Resolved, Unloaded, WaitFor};
use self::loading::{Loading, run_bytes, schedule_bytes};
use self::messages::{Mail, Unanswered};
use self::schedule_cache::Schedules;
use self::schedules::AwaitedStarts;
use self::turns::Turns;
use self::wakes::Wakes;
use crate::Evaluation;
use crate::api::Refusal;
use crate::damage::{Damage, Damaged};
use crate::memory::Shares;
use crate::namespaces::Namespaces;
use crate::queues::Queues;

/// A key has 32 bits for its place under a lease. A cell takes a new lease after half of them at the latest: the
/// other half is left for what one batch makes.
pub(crate) const KEYS_PER_LEASE_MAX: u32 = 1 << 31;

/// Something for a cell to handle.
pub(crate) enum Input {
    /// Someone asks.
    Asked(Box<Incoming>),
    /// What was to be loaded.
    Loaded { wanted: WantedRun, found: Result<Option<StoredRun>, Error> },
    /// And a schedule.
    ScheduleLoaded { id: ScheduleId, found: Result<Option<StoredSchedule>, Error> },
    /// Wake-ups up to the asked time, or the first so many.
    WakesLoaded { up_to: Time, wakes: Vec<Wake>, is_all: bool, last: Option<(Time, i64)> },
    /// The store couldn't say: ask again.
    WakesUnread,
}

impl Input {
    /// What it is and what it is about, for the log.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Asked(incoming) => incoming.request.describe(),
            Self::Loaded { wanted, .. } => format!("loaded workflow {:?}", wanted.workflow_id),
            Self::ScheduleLoaded { id, .. } => format!("loaded schedule {:?}", id.1),
            Self::WakesLoaded { wakes, .. } => format!("loaded {} wake-ups", wakes.len()),
            Self::WakesUnread => "wake-ups that couldn't be read".to_owned(),
        }
    }
}

/// What a step leads to.
#[derive(Default)]
pub(crate) struct Effects {
    /// What to read, each answered by an [`Input::Loaded`] or an [`Input::ScheduleLoaded`].
    pub(crate) loads: Vec<Wanted>,
    /// The same, and the open batch waits for these: they had better be there in the next step.
    pub(crate) awaited_loads: Vec<Wanted>,
    /// A batch to commit, answered by a call of [`Cell::committed`]; or the cell is begun anew.
    pub(crate) commit: Option<Batch>,
    /// What may leave now.
    pub(crate) releases: Vec<Release>,
    /// Wake-ups to read: those after the first, up to the second.
    pub(crate) load_wakes: Option<((Time, i64), Time)>,
}

/// Something to be loaded.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Run(WantedRun),
    Schedule(ScheduleId),
}

impl Wanted {
    fn damaged(&self) -> Damaged {
        match self.clone() {
            Self::Run(WantedRun { namespace, workflow_id, run_id }) => {
                Damaged::Run { namespace, workflow_id, run_id }
            }
            Self::Schedule((namespace, schedule_id)) => {
                Damaged::Schedule { namespace, schedule_id }
            }
        }
    }
}

/// What a cell may know of the world in a step.
pub(crate) struct World<'a> {
    pub(crate) now: Time,
    pub(crate) evaluated: Evaluated,
    pub(crate) queues: &'a Queues,
    pub(crate) namespaces: &'a Arc<Namespaces>,
    pub(crate) damage: &'a Damage,
}

/// See the module's documentation.
pub(crate) struct Cell {
    id: u32,
    /// How many share the slots.
    cells: u32,
    epoch: Epoch,
    /// A key that no one else makes: ascending within a lease, and above all earlier ones'.
    keys: FreshKeys,
    /// After so many keys a new lease is due.
    keys_per_lease: u32,
    ids: FreshIds,
    limits: Arc<Limits>,
    zones: Arc<Zones>,
    cache: Cache,
    schedules: Schedules,
    loading: Loading,
    /// Triggers whose runs are being started: whoever asked is told when they are there.
    awaited_starts: BTreeMap<ScheduleId, Vec<AwaitedStarts>>,
    wakes: Wakes,
    turns: Turns,
    /// Memory that all pages of completions take.
    page_bytes: usize,
    page_bytes_max: usize,
    open: OpenBatch,
    mail: Mail,
    unanswered: Unanswered,
    /// Tasks that became ready in this step.
    offers: VecDeque<(RunKey, Offer)>,
    /// An update that comes with a start: its run's first workflow task brings it along.
    staged_update: Option<update::Request>,
    /// What saw only what is durable: it leaves at the end of the step.
    ready: Vec<Release>,
    /// What is released when the batch in flight is durable.
    in_flight: Option<Vec<Release>>,
    next_sequence: u64,
}

impl Cell {
    #[allow(clippy::too_many_arguments, reason = "made in one place")]
    pub(crate) fn new(
        id: u32,
        cells: u32,
        epoch: Epoch,
        seed: u64,
        limits: Arc<Limits>,
        zones: Arc<Zones>,
        cached: usize,
        shares: Shares,
        evaluation: Evaluation,
        keys_per_lease: u32,
    ) -> Self {
        Self {
            id,
            cells,
            epoch,
            keys: keys_under(epoch),
            keys_per_lease: keys_per_lease.clamp(1, KEYS_PER_LEASE_MAX),
            ids: FreshIds::from_seed(seed),
            zones,
            cache: Cache::new(cached, shares.runs),
            schedules: Schedules::new(cached, shares.schedules),
            loading: Loading::new(shares.loads),
            awaited_starts: BTreeMap::new(),
            wakes: Wakes::new(evaluation),
            turns: Turns::default(),
            page_bytes: 0,
            page_bytes_max: shares.pages.min(limits.pages_bytes),
            open: OpenBatch::default(),
            mail: Mail::default(),
            unanswered: Unanswered::default(),
            offers: VecDeque::new(),
            staged_update: None,
            ready: Vec::new(),
            in_flight: None,
            next_sequence: 1,
            limits,
        }
    }

    /// Has nobody woken from now on: for a cell that reads while nothing can be written.
    pub(crate) fn suspend(&mut self) {
        self.wakes.suspend();
    }

    /// A message of this cell's is in the store. It has to know of all of them before its first step.
    pub(crate) fn has_sent(&mut self, message: &RunMessage) {
        self.unanswered.add(message);
    }

    /// Handles what has arrived.
    pub(crate) fn step(&mut self, inputs: Vec<Input>, world: &World<'_>) -> Effects {
        let mut effects = Effects::default();
        for input in inputs {
            match input {
                Input::Asked(incoming) => self.ask_in_turn(*incoming, world, &mut effects),
                Input::Loaded { wanted, found } => {
                    self.loading.loaded(run_bytes(&found));
                    match self.cache.loaded(&wanted, found) {
                        Ok(waiting) => {
                            for incoming in waiting {
                                self.ask(incoming, world, &mut effects);
                            }
                        }
                        Err(unloaded) => {
                            self.try_again(&Wanted::Run(wanted), unloaded, world, &mut effects);
                        }
                    }
                }
                Input::ScheduleLoaded { id, found } => {
                    self.loading.loaded(schedule_bytes(&found));
                    match self.schedules.loaded(&id, found, &self.zones) {
                        Ok(waiting) => {
                            for incoming in waiting {
                                self.ask(incoming, world, &mut effects);
                            }
                        }
                        Err(unloaded) => {
                            self.try_again(&Wanted::Schedule(id), unloaded, world, &mut effects);
                        }
                    }
                }
                Input::WakesUnread => self.wakes.unread(),
                Input::WakesLoaded { up_to, wakes, is_all, last } => {
                    self.wakes.loaded(up_to, wakes, is_all, last);
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
        if self.in_flight.is_none() && !waits {
            self.seal(&mut effects);
        }
        self.mail.has_waited = waits;
        effects.releases.append(&mut self.ready);
        self.cache.evict();
        self.schedules.evict();
        effects
    }

    /// The batch in flight is durable: what may leave now. It leaves before the next step, so that workers are at
    /// it while the cell is.
    pub(crate) fn committed(&mut self) -> Vec<Release> {
        self.cache.committed();
        self.schedules.committed();
        self.in_flight.take().unwrap_or_default()
    }

    /// Whether a new lease is to be taken before the next step, for more keys. While a batch is on its way none
    /// is: it would be refused.
    pub(crate) fn needs_keys(&self) -> bool {
        let made = self.keys.last() - keys_under(self.epoch).last();
        self.in_flight.is_none() && made >= i64::from(self.keys_per_lease)
    }

    /// Goes on under a new lease that follows its own. Everything in memory still holds: what isn't in the open
    /// batch is durable, and nobody else has written meanwhile.
    pub(crate) fn go_on_under(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        self.keys = keys_under(epoch);
        self.next_sequence = 1;
    }

    /// When the cell wants to be stepped again though nothing arrives.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        let is_busy = !self.mail.is_empty() || !self.turns.is_empty();
        if is_busy { Some(Time(i64::MIN)) } else { self.wakes.next() }
    }

    /// Bytes of the runs and schedules in memory.
    pub(crate) fn cached_bytes(&self) -> usize {
        self.cache.bytes() + self.schedules.bytes()
    }

    /// Whether everything it was asked is answered for.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.in_flight.is_none() && self.open.is_empty() && self.turns.is_empty()
    }

    /// The lease it has.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The batch on its way, if there is one.
    pub(crate) fn batch_in_flight(&self) -> Option<LastBatch> {
        self.in_flight.as_ref()?;
        Some(LastBatch { epoch: self.epoch, sequence: self.next_sequence - 1 })
    }

    /// Ends the cell: nothing that isn't durable has happened. What the batch on its way would release comes from
    /// [`Self::committed`], if it has landed.
    pub(crate) fn abandon(&mut self) -> Vec<Release> {
        let mut lost = self.in_flight.take().unwrap_or_default();
        lost.extend(self.open.take_releases());
        lost.append(&mut self.ready);
        let awaited = std::mem::take(&mut self.awaited_starts).into_values().flatten();
        let parked = self.cache.take_parked().into_iter().chain(self.schedules.take_parked());
        let waiting = parked.chain(self.turns.take_all());
        let replies = awaited.map(|it| it.reply).chain(waiting.map(|incoming| incoming.reply));
        for reply in replies {
            let why = Refusal::Unavailable("the cell is starting again".to_owned());
            lost.push(Release::Reply(reply, Box::new(Err(why))));
        }
        lost
    }

    fn seal(&mut self, effects: &mut Effects) {
        if self.open.is_empty() {
            return;
        }
        self.store_mail();
        let sequence = self.next_sequence;
        let (batch, releases) = self.open.seal(self.id, self.epoch, sequence);
        self.cache.sealed();
        self.schedules.sealed();
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

    /// Something couldn't be loaded. Callers ask again themselves; for what nobody asked, the cell does, unless the
    /// rows are damaged.
    fn try_again(
        &mut self,
        wanted: &Wanted,
        unloaded: Unloaded,
        world: &World<'_>,
        effects: &mut Effects,
    ) {
        let Unloaded { waiting, why } = unloaded;
        let refusal = match &why {
            Error::Corrupt(damage) => {
                let what = wanted.damaged();
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
                ReplyTo::Sender(message) => self.open.release(Release::Deliver(message)),
                reply => reply.send(Err(refusal.clone())),
            }
        }
    }

    /// Puts a request aside until what it is about is loaded.
    fn park(&mut self, wanted: Wanted, mut incoming: Incoming, effects: &mut Effects) {
        self.store_before_parking(&mut incoming);
        let is_awaited = matches!(incoming.reply, ReplyTo::Sender(_));
        let is_first = match &wanted {
            Wanted::Run(run) => self.cache.park(run.clone(), incoming),
            Wanted::Schedule(id) => self.schedules.park(id.clone(), incoming),
        };
        match (is_first, is_awaited) {
            (true, true) => {
                self.loading.want_now();
                effects.awaited_loads.push(wanted);
            }
            (true, false) => self.loading.want(wanted),
            (false, _) => {}
        }
    }

    /// Whether what belongs to a slot is here.
    fn owns(&self, slot: Slot) -> bool {
        slot.range_among(self.cells) == self.id
    }

    /// Lets something leave when what it follows from is durable.
    fn answer_after(&mut self, wait_for: WaitFor, release: Release) {
        match wait_for {
            WaitFor::Nothing => self.ready.push(release),
            WaitFor::OpenBatch => self.open.release(release),
            WaitFor::BatchInFlight => match &mut self.in_flight {
                Some(releases) => releases.push(release),
                None => self.open.release(release),
            },
        }
    }

    fn ask(&mut self, incoming: Incoming, world: &World<'_>, effects: &mut Effects) {
        if let Some(schedule) = incoming.request.schedule() {
            return self.ask_schedule(schedule.clone(), incoming, world, effects);
        }
        let is_unseen = self.is_unseen(&incoming);
        match self.cache.resolve(&incoming.request, is_unseen) {
            Resolved::Found(key) => self.handle(Some(key), incoming, world),
            Resolved::Absent => self.handle(None, incoming, world),
            Resolved::Wanted(wanted) => self.park(Wanted::Run(wanted), incoming, effects),
        }
    }
}

fn keys_under(epoch: Epoch) -> FreshKeys {
    FreshKeys::above(epoch.0 << 32)
}
