//! The entity cache of a cell, and the requests parked until an entity is loaded.

use std::collections::{BTreeMap, HashMap, VecDeque};

use perennial_engine::{Entity, EntityId, EntityKey, EntityRef, Zones};
use perennial_store::{Error, StoredEntity};

use super::entity::CachedEntity;
use super::request::{Incoming, ReplyTo};

/// Closed entities kept in the cache: clients often read a run's result, or start its workflow id again.
const CLOSED_KEPT: usize = 500;
/// Eviction candidates checked in one step.
const EVICTION_TRIES: usize = 64;

/// Result of a cache lookup.
pub(super) enum Resolved {
    Found(EntityKey),
    /// There is no such entity.
    Absent,
    /// A cache miss: it has to be loaded.
    Unknown,
}

/// A failed load, and the requests that waited for it.
pub(super) struct LoadFailed {
    pub(super) waiting: Vec<Incoming>,
    /// After [`Error::Corrupt`] a retry won't help.
    pub(super) why: Error,
}

struct Cached {
    entity: CachedEntity,
    commit: CommitState,
    last_used: u64,
}

/// Whether the cached state is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitState {
    Durable,
    InFlight,
    InOpenBatch,
}

/// The commit that a reply waits for, because it saw state of that batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFor {
    Nothing,
    BatchInFlight,
    OpenBatch,
}

/// Known entities of one id.
#[derive(Default)]
struct IdEntry {
    /// `None`: not known. `Some(None)`: there is none.
    current: Option<Option<EntityKey>>,
    /// Runs by their run ids; `None` where there is none of that id.
    runs: HashMap<String, Option<EntityKey>>,
}

impl IdEntry {
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
    /// Bytes of all entities.
    bytes: usize,
    ids: HashMap<EntityId, IdEntry>,
    entities: HashMap<EntityKey, Cached>,
    by_use: BTreeMap<u64, EntityKey>,
    tick: u64,
    /// Ordered, so that a cell that ends answers in a deterministic order.
    parked: BTreeMap<EntityRef, Vec<Incoming>>,
    /// Entities that the open batch changes.
    changed_in_open_batch: Vec<EntityKey>,
    /// Entities that the batch in flight changes.
    changed_in_flight: Vec<EntityKey>,
    /// Durably closed entities, oldest first.
    closed_entities: VecDeque<EntityKey>,
    /// Ids for which the cache remembers that an entity doesn't exist. These are dropped soon, or requests for unknown
    /// ids would fill the memory.
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
            changed_in_open_batch: Vec::new(),
            changed_in_flight: Vec::new(),
            closed_entities: VecDeque::new(),
            absent: Vec::new(),
        }
    }

    /// Looks up an entity and marks it as used.
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

    /// Parks a request until its entity is loaded. True if it is the first to wait for it.
    pub(super) fn park(&mut self, wanted: EntityRef, incoming: Incoming) -> bool {
        let waiting = self.parked.entry(wanted).or_default();
        waiting.push(incoming);
        waiting.len() == 1
    }

    /// Adds a loaded entity. Returns the requests that waited for it.
    pub(super) fn loaded(
        &mut self,
        wanted: &EntityRef,
        found: Result<Option<StoredEntity>, Error>,
        zones: &Zones,
    ) -> Result<Vec<Incoming>, LoadFailed> {
        let waiting = self.parked.remove(wanted).unwrap_or_default();
        let found = found.and_then(|stored| {
            stored.map_or(Ok(None), |stored| self.insert_loaded(&wanted.id, &stored, zones))
        });
        let key = match found {
            Ok(key) => key,
            Err(why) => return Err(LoadFailed { waiting, why }),
        };
        if key.is_none() {
            self.absent.push(wanted.id.clone());
        }
        let entry = self.ids.entry(wanted.id.clone()).or_default();
        match &wanted.run_id {
            // Created since the load was requested: the cached state is newer.
            None if entry.current.is_some() => {}
            None => entry.current = Some(key),
            Some(run_id) => {
                entry.runs.entry(run_id.clone()).or_insert(key);
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
        // Another may have been created since this one was read: the cached state is newer.
        let is_current = stored.is_current && self.look_up(id, None).is_none();
        self.insert(entity, is_current);
        Ok(Some(key))
    }

    /// Adds an entity, new or loaded. It counts as durable until [`Self::change`], which must follow for a new one.
    pub(super) fn insert(&mut self, entity: CachedEntity, is_current: bool) {
        let state = entity.state();
        let key = state.key();
        let entry = self.ids.entry(state.id()).or_default();
        if is_current {
            entry.current = Some(Some(key));
        }
        if let Some(run_id) = state.run_id() {
            entry.runs.insert(run_id.to_owned(), Some(key));
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

    /// An entity, to change its attached data. For its state use [`Self::change`].
    pub(super) fn get_mut(&mut self, key: EntityKey) -> Option<&mut CachedEntity> {
        self.entities.get_mut(&key).map(|cached| &mut cached.entity)
    }

    /// Changes the state of an entity. It isn't durable until the open batch is.
    pub(super) fn change(&mut self, key: EntityKey, change: impl FnOnce(&mut CachedEntity)) {
        let Some(cached) = self.entities.get_mut(&key) else { return };
        let before = cached.entity.bytes();
        change(&mut cached.entity);
        self.bytes = (self.bytes + cached.entity.bytes()).saturating_sub(before);
        if cached.commit != CommitState::InOpenBatch {
            cached.commit = CommitState::InOpenBatch;
            self.changed_in_open_batch.push(key);
        }
    }

    /// The commit that makes the current state durable.
    pub(super) fn wait_for(&self, key: EntityKey) -> WaitFor {
        match self.entities.get(&key).map(|cached| cached.commit) {
            None | Some(CommitState::Durable) => WaitFor::Nothing,
            Some(CommitState::InFlight) => WaitFor::BatchInFlight,
            Some(CommitState::InOpenBatch) => WaitFor::OpenBatch,
        }
    }

    /// The open batch is in flight now.
    pub(super) fn sealed(&mut self) {
        self.changed_in_flight = std::mem::take(&mut self.changed_in_open_batch);
        for key in &self.changed_in_flight {
            if let Some(cached) = self.entities.get_mut(key) {
                cached.commit = CommitState::InFlight;
            }
        }
    }

    /// The batch in flight is durable.
    pub(super) fn committed(&mut self) {
        for key in std::mem::take(&mut self.changed_in_flight) {
            if let Some(cached) = self.entities.get_mut(&key)
                && cached.commit == CommitState::InFlight
            {
                cached.commit = CommitState::Durable;
                if cached.entity.is_closed() {
                    self.closed_entities.push_back(key);
                }
            }
        }
    }

    /// Removes an entity that was deleted.
    pub(super) fn remove(&mut self, key: EntityKey) -> Option<CachedEntity> {
        let entity = self.take_out(key)?;
        let state = entity.state();
        let id = state.id();
        if let Some(entry) = self.ids.get_mut(&id) {
            if let Some(run_id) = state.run_id() {
                entry.runs.insert(run_id.to_owned(), None);
            }
            if entry.current == Some(Some(key)) {
                entry.current = Some(None);
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

    /// Evicts closed, then least recently used entities while the cache is over its limits. Never evicts an entity that
    /// isn't durable or has a caller waiting.
    pub(super) fn evict(&mut self) {
        self.forget_absent();
        while self.closed_entities.len() > CLOSED_KEPT
            || (self.is_over_limit() && !self.closed_entities.is_empty())
        {
            if let Some(key) = self.closed_entities.pop_front()
                && self.is_evictable(key)
            {
                self.forget(key);
            }
        }
        for _ in 0..EVICTION_TRIES {
            if !self.is_over_limit() {
                return;
            }
            let Some((_, &key)) = self.by_use.first_key_value() else { return };
            if self.is_evictable(key) {
                self.forget(key);
            } else {
                self.touch(key);
            }
        }
    }

    /// Whether the cache has too many entities or bytes. A single entity may have any size.
    fn is_over_limit(&self) -> bool {
        let count = self.entities.len();
        count > self.capacity || (self.bytes > self.bytes_max && count > 1)
    }

    /// Number of cached entities.
    pub(super) fn len(&self) -> usize {
        self.entities.len()
    }

    /// Bytes of all cached entities.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_evictable(&mut self, key: EntityKey) -> bool {
        let Some(cached) = self.entities.get_mut(&key) else { return false };
        cached.commit == CommitState::Durable
            && !cached.entity.is_awaited()
            // A load in progress for the same id may be older than the evicted state.
            && !is_loading(&self.parked, &cached.entity.state().id())
    }

    fn forget_absent(&mut self) {
        let parked = &self.parked;
        let (keep, drop): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.absent).into_iter().partition(|id| is_loading(parked, id));
        self.absent = keep;
        drop.iter().for_each(|id| self.drop_absent(id));
    }

    fn forget(&mut self, key: EntityKey) {
        let Some(entity) = self.take_out(key) else { return };
        let state: Entity = entity.state();
        let id = state.id();
        let Some(entry) = self.ids.get_mut(&id) else { return };
        if let Some(run_id) = state.run_id() {
            entry.runs.remove(run_id);
        }
        if entry.current == Some(Some(key)) {
            entry.current = None;
        }
        self.drop_absent(&id);
    }

    /// Forgets that entities of an id don't exist, and the id if nothing else is known of it.
    fn drop_absent(&mut self, id: &EntityId) {
        let Some(entry) = self.ids.get_mut(id) else { return };
        entry.forget_absent();
        if entry.is_empty() {
            self.ids.remove(id);
        }
    }

    /// Returns the requests that wait for a load when the cell ends. Nothing of them has happened.
    pub(super) fn take_parked(&mut self) -> Vec<ReplyTo> {
        let parked = std::mem::take(&mut self.parked).into_values().flatten();
        parked.map(|incoming| incoming.reply).collect()
    }

    /// Returns the callers that wait for an entity when the cell ends, in a deterministic order.
    pub(super) fn take_waiting(&mut self) -> Vec<ReplyTo> {
        let mut keys: Vec<_> = self.entities.keys().copied().collect();
        keys.sort_unstable();
        let mut waiting = Vec::new();
        for key in keys {
            waiting.extend(self.get_mut(key).map(CachedEntity::take_replies).unwrap_or_default());
        }
        waiting
    }
}

/// Whether a load for an id is in progress. A range lookup, because there may be many parked requests.
fn is_loading(parked: &BTreeMap<EntityRef, Vec<Incoming>>, id: &EntityId) -> bool {
    let first = EntityRef::current(id.clone());
    parked.range(&first..).next().is_some_and(|(wanted, _)| wanted.id == *id)
}
