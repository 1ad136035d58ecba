//! The entities a cell has in memory, and the requests that wait for one to be loaded.

use std::collections::{BTreeMap, HashMap, VecDeque};

use perennial_engine::{Entity, EntityId, EntityKey, EntityRef, Zones};
use perennial_store::{Error, StoredEntity};

use super::entity::CachedEntity;
use super::request::{Incoming, ReplyTo};

/// Closed entities kept in memory: someone may ask for a run's result, or start its workflow id again.
const CLOSED_KEPT: usize = 500;
/// Entities that are looked at in one step for one to evict.
const EVICTION_TRIES: usize = 64;

/// Where an entity is.
pub(super) enum Resolved {
    Found(EntityKey),
    /// There is no such entity.
    Absent,
    /// It has to be loaded first.
    Unknown,
}

/// An entity that couldn't be loaded, and the requests that wait for it.
pub(super) struct Unloaded {
    pub(super) waiting: Vec<Incoming>,
    /// If it is [`Error::Corrupt`], asking again won't help.
    pub(super) why: Error,
}

struct Cached {
    entity: CachedEntity,
    commit: CommitState,
    last_used: u64,
}

/// How far the state in memory is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitState {
    Durable,
    InFlight,
    Open,
}

/// The commit that a reply has to wait for, because it saw what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFor {
    Nothing,
    BatchInFlight,
    OpenBatch,
}

/// What is known of the entities of one id.
#[derive(Default)]
struct OfId {
    /// `None`: not known. `Some(None)`: there is none.
    current: Option<Option<EntityKey>>,
    /// Runs by their run ids; `None` where there is none of that id.
    runs: HashMap<String, Option<EntityKey>>,
}

impl OfId {
    fn get(&self, run_id: Option<&str>) -> Option<Option<EntityKey>> {
        match run_id {
            Some(run_id) => self.runs.get(run_id).copied(),
            None => self.current,
        }
    }

    fn is_empty(&self) -> bool {
        self.current.is_none() && self.runs.is_empty()
    }

    fn forget_absent(&mut self) {
        self.runs.retain(|_, key| key.is_some());
        if self.current == Some(None) {
            self.current = None;
        }
    }
}

pub(super) struct Cache {
    capacity: usize,
    bytes_max: usize,
    /// Of all entities.
    bytes: usize,
    ids: HashMap<EntityId, OfId>,
    entities: HashMap<EntityKey, Cached>,
    by_use: BTreeMap<u64, EntityKey>,
    tick: u64,
    /// In order, so that a cell that ends answers in the same order each time.
    parked: BTreeMap<EntityRef, Vec<Incoming>>,
    open: Vec<EntityKey>,
    in_flight: Vec<EntityKey>,
    /// Entities that have closed, durably, in that order.
    closed: VecDeque<EntityKey>,
    /// Ids of which something is known not to exist: forgotten soon, or asking for what doesn't exist would fill the
    /// memory.
    absent: Vec<EntityId>,
}

impl Cache {
    pub(super) fn new(capacity: usize, bytes_max: usize) -> Self {
        Self {
            capacity,
            bytes_max,
            bytes: 0,
            ids: HashMap::new(),
            entities: HashMap::new(),
            by_use: BTreeMap::new(),
            tick: 0,
            parked: BTreeMap::new(),
            open: Vec::new(),
            in_flight: Vec::new(),
            closed: VecDeque::new(),
            absent: Vec::new(),
        }
    }

    /// Finds an entity, which counts as a use of it.
    pub(super) fn resolve(&mut self, wanted: &EntityRef) -> Resolved {
        match self.look_up(&wanted.id, wanted.run_id.as_deref()) {
            Some(Some(key)) => {
                self.touch(key);
                Resolved::Found(key)
            }
            Some(None) => Resolved::Absent,
            None => Resolved::Unknown,
        }
    }

    /// The current entity of an id, if it is known.
    pub(super) fn current_of(&self, id: &EntityId) -> Option<EntityKey> {
        self.look_up(id, None).flatten()
    }

    /// `None`: not known. `Some(None)`: there is none.
    fn look_up(&self, id: &EntityId, run_id: Option<&str>) -> Option<Option<EntityKey>> {
        self.ids.get(id)?.get(run_id)
    }

    /// Puts a request aside until its entity is loaded. True if it is the first to wait for it.
    pub(super) fn park(&mut self, wanted: EntityRef, incoming: Incoming) -> bool {
        let waiting = self.parked.entry(wanted).or_default();
        waiting.push(incoming);
        waiting.len() == 1
    }

    /// Takes an entity that was loaded. Returns the requests that waited for it.
    pub(super) fn loaded(
        &mut self,
        wanted: &EntityRef,
        found: Result<Option<StoredEntity>, Error>,
        zones: &Zones,
    ) -> Result<Vec<Incoming>, Unloaded> {
        let waiting = self.parked.remove(wanted).unwrap_or_default();
        let found = found.and_then(|stored| {
            stored.map_or(Ok(None), |stored| self.insert_loaded(&wanted.id, &stored, zones))
        });
        let key = match found {
            Ok(key) => key,
            Err(why) => return Err(Unloaded { waiting, why }),
        };
        if key.is_none() {
            self.absent.push(wanted.id.clone());
        }
        let of_id = self.ids.entry(wanted.id.clone()).or_default();
        match &wanted.run_id {
            // Created since it was asked for: what is in memory is newer.
            None if of_id.current.is_some() => {}
            None => of_id.current = Some(key),
            Some(run_id) => {
                of_id.runs.entry(run_id.clone()).or_insert(key);
            }
        }
        Ok(waiting)
    }

    fn insert_loaded(
        &mut self,
        id: &EntityId,
        stored: &StoredEntity,
        zones: &Zones,
    ) -> Result<Option<EntityKey>, Error> {
        let key = stored.key;
        if self.entities.contains_key(&key) {
            return Ok(Some(key));
        }
        let entity =
            CachedEntity::read(stored, zones).map_err(|error| Error::Corrupt(error.to_string()))?;
        // Deleted since it was read.
        let run_id = entity.state().run_id().map(str::to_owned);
        if run_id.is_some() && self.look_up(id, run_id.as_deref()) == Some(None) {
            return Ok(None);
        }
        // Another may have been created since this one was read: what is known is newer.
        let is_current = stored.is_current && self.look_up(id, None).is_none();
        self.insert(entity, is_current);
        Ok(Some(key))
    }

    /// Puts an entity in, new or loaded.
    pub(super) fn insert(&mut self, entity: CachedEntity, is_current: bool) {
        let state = entity.state();
        let key = state.key();
        let of_id = self.ids.entry(state.id()).or_default();
        if is_current {
            of_id.current = Some(Some(key));
        }
        if let Some(run_id) = state.run_id() {
            of_id.runs.insert(run_id.to_owned(), Some(key));
        }
        self.tick += 1;
        self.by_use.insert(self.tick, key);
        self.bytes += entity.bytes();
        let cached = Cached { entity, commit: CommitState::Durable, last_used: self.tick };
        self.entities.insert(key, cached);
    }

    pub(super) fn get(&self, key: EntityKey) -> Option<&CachedEntity> {
        self.entities.get(&key).map(|cached| &cached.entity)
    }

    /// An entity, to change what is attached to it. For its state there is [`Self::change`].
    pub(super) fn get_mut(&mut self, key: EntityKey) -> Option<&mut CachedEntity> {
        self.entities.get_mut(&key).map(|cached| &mut cached.entity)
    }

    /// Changes the state of an entity, which is ahead of the store from then on.
    pub(super) fn change(&mut self, key: EntityKey, change: impl FnOnce(&mut CachedEntity)) {
        let Some(cached) = self.entities.get_mut(&key) else { return };
        let before = cached.entity.bytes();
        change(&mut cached.entity);
        self.bytes = (self.bytes + cached.entity.bytes()).saturating_sub(before);
        if cached.commit != CommitState::Open {
            cached.commit = CommitState::Open;
            self.open.push(key);
        }
    }

    /// The commit that makes the entity durable as it is.
    pub(super) fn wait_for(&self, key: EntityKey) -> WaitFor {
        match self.entities.get(&key).map(|cached| cached.commit) {
            None | Some(CommitState::Durable) => WaitFor::Nothing,
            Some(CommitState::InFlight) => WaitFor::BatchInFlight,
            Some(CommitState::Open) => WaitFor::OpenBatch,
        }
    }

    /// The open batch is on its way.
    pub(super) fn sealed(&mut self) {
        self.in_flight = std::mem::take(&mut self.open);
        for key in &self.in_flight {
            if let Some(cached) = self.entities.get_mut(key) {
                cached.commit = CommitState::InFlight;
            }
        }
    }

    /// The batch on its way has arrived.
    pub(super) fn committed(&mut self) {
        for key in std::mem::take(&mut self.in_flight) {
            if let Some(cached) = self.entities.get_mut(&key)
                && cached.commit == CommitState::InFlight
            {
                cached.commit = CommitState::Durable;
                if cached.entity.is_closed() {
                    self.closed.push_back(key);
                }
            }
        }
    }

    /// Removes an entity that was deleted.
    pub(super) fn remove(&mut self, key: EntityKey) -> Option<CachedEntity> {
        let entity = self.take_out(key)?;
        let state = entity.state();
        let id = state.id();
        if let Some(of_id) = self.ids.get_mut(&id) {
            if let Some(run_id) = state.run_id() {
                of_id.runs.insert(run_id.to_owned(), None);
            }
            if of_id.current == Some(Some(key)) {
                of_id.current = Some(None);
            }
            self.absent.push(id);
        }
        Some(entity)
    }

    fn take_out(&mut self, key: EntityKey) -> Option<CachedEntity> {
        let cached = self.entities.remove(&key)?;
        self.bytes = self.bytes.saturating_sub(cached.entity.bytes());
        self.by_use.remove(&cached.last_used);
        Some(cached.entity)
    }

    fn touch(&mut self, key: EntityKey) {
        let Some(cached) = self.entities.get_mut(&key) else { return };
        self.by_use.remove(&cached.last_used);
        self.tick += 1;
        cached.last_used = self.tick;
        self.by_use.insert(self.tick, key);
    }

    /// Evicts what closed or was used longest ago, as long as there is too much, and never what isn't durable or has
    /// someone waiting on it.
    pub(super) fn evict(&mut self) {
        self.forget_absent();
        while self.closed.len() > CLOSED_KEPT || (self.has_too_much() && !self.closed.is_empty()) {
            if let Some(key) = self.closed.pop_front()
                && self.is_free(key)
            {
                self.forget(key);
            }
        }
        for _ in 0..EVICTION_TRIES {
            if !self.has_too_much() {
                return;
            }
            let Some((_, &key)) = self.by_use.first_key_value() else { return };
            if self.is_free(key) {
                self.forget(key);
            } else {
                self.touch(key);
            }
        }
    }

    /// More entities than there should be, or more bytes of them. An entity that is alone may be of any size.
    fn has_too_much(&self) -> bool {
        let count = self.entities.len();
        count > self.capacity || (self.bytes > self.bytes_max && count > 1)
    }

    /// Bytes of all entities in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_free(&mut self, key: EntityKey) -> bool {
        let Some(cached) = self.entities.get_mut(&key) else { return false };
        cached.commit == CommitState::Durable
            && !cached.entity.is_awaited()
            // What is being read for the same id may be older than what would be forgotten.
            && !is_asked_for(&self.parked, &cached.entity.state().id())
    }

    fn forget_absent(&mut self) {
        let parked = &self.parked;
        let (keep, drop): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.absent).into_iter().partition(|id| is_asked_for(parked, id));
        self.absent = keep;
        for id in drop {
            let Some(of_id) = self.ids.get_mut(&id) else { continue };
            of_id.forget_absent();
            if of_id.is_empty() {
                self.ids.remove(&id);
            }
        }
    }

    fn forget(&mut self, key: EntityKey) {
        let Some(entity) = self.take_out(key) else { return };
        let state: Entity = entity.state();
        let id = state.id();
        let Some(of_id) = self.ids.get_mut(&id) else { return };
        if let Some(run_id) = state.run_id() {
            of_id.runs.remove(run_id);
        }
        if of_id.current == Some(Some(key)) {
            of_id.current = None;
        }
        of_id.forget_absent();
        if of_id.is_empty() {
            self.ids.remove(&id);
        }
    }

    /// The cell is over: everyone who waits in it, in the same order each time.
    pub(super) fn take_waiting(&mut self) -> Vec<ReplyTo> {
        let mut keys: Vec<_> = self.entities.keys().copied().collect();
        keys.sort_unstable();
        let mut waiting = Vec::new();
        for key in keys {
            waiting.extend(self.get_mut(key).map(CachedEntity::take_replies).unwrap_or_default());
        }
        let parked = std::mem::take(&mut self.parked).into_values().flatten();
        waiting.extend(parked.map(|incoming| incoming.reply));
        waiting
    }
}

/// Whether an entity of an id is being read. Found by order: there may be many of both.
fn is_asked_for(parked: &BTreeMap<EntityRef, Vec<Incoming>>, id: &EntityId) -> bool {
    let first = EntityRef::current(id.clone());
    parked.range(&first..).next().is_some_and(|(wanted, _)| wanted.id == *id)
}
