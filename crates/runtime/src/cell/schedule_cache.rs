//! The schedules a cell has in memory, and the requests that wait for one to be loaded.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use perennial_engine::Zones;
use perennial_engine::schedule::Schedule;
use perennial_store::{Error, StoredSchedule};

use super::cache::{Commit, Unloaded, WaitFor};
use super::request::Incoming;

/// A namespace's key and a schedule id.
pub(crate) type ScheduleId = (i64, String);

/// What a schedule takes beside its rows, compiled times included: a guess, on the high side.
const SCHEDULE_BYTES: usize = 8 * 1024;

/// The latest schedule of an id, or that there is none.
struct Cached {
    schedule: Option<Arc<Schedule>>,
    bytes: usize,
    state: Commit,
    last_used: u64,
}

pub(super) struct Schedules {
    capacity: usize,
    bytes_max: usize,
    /// Of all schedules.
    bytes: usize,
    by_id: HashMap<ScheduleId, Cached>,
    by_use: BTreeMap<u64, ScheduleId>,
    tick: u64,
    /// In order, so that a cell that ends answers in the same order each time.
    parked: BTreeMap<ScheduleId, Vec<Incoming>>,
    open: Vec<ScheduleId>,
    in_flight: Vec<ScheduleId>,
}

impl Schedules {
    pub(super) fn new(capacity: usize, bytes_max: usize) -> Self {
        Self {
            capacity,
            bytes_max,
            bytes: 0,
            by_id: HashMap::new(),
            by_use: BTreeMap::new(),
            tick: 0,
            parked: BTreeMap::new(),
            open: Vec::new(),
            in_flight: Vec::new(),
        }
    }

    /// `None`: not in memory. `Some(None)`: there is none.
    pub(super) fn find(&mut self, id: &ScheduleId) -> Option<Option<Arc<Schedule>>> {
        let cached = self.by_id.get_mut(id)?;
        self.tick += 1;
        self.by_use.remove(&cached.last_used);
        cached.last_used = self.tick;
        self.by_use.insert(self.tick, id.clone());
        Some(cached.schedule.clone())
    }

    /// Takes a schedule as a step left it.
    pub(super) fn put(&mut self, schedule: Arc<Schedule>) {
        let id = (schedule.head.namespace, schedule.head.schedule_id.clone());
        self.insert(&id, Some(schedule));
        if let Some(cached) = self.by_id.get_mut(&id)
            && cached.state != Commit::Open
        {
            cached.state = Commit::Open;
            self.open.push(id);
        }
    }

    /// Forgets a schedule whose rows are to be gone.
    pub(super) fn remove(&mut self, id: &ScheduleId) {
        self.insert(id, None);
    }

    fn insert(&mut self, id: &ScheduleId, schedule: Option<Arc<Schedule>>) {
        self.tick += 1;
        let tick = self.tick;
        let cached = self.by_id.entry(id.clone()).or_insert(Cached {
            schedule: None,
            bytes: 0,
            state: Commit::Durable,
            last_used: tick,
        });
        self.by_use.remove(&cached.last_used);
        cached.last_used = tick;
        let bytes = schedule.as_deref().map_or(0, |it| SCHEDULE_BYTES + it.rows_len());
        self.bytes = (self.bytes + bytes).saturating_sub(cached.bytes);
        cached.bytes = bytes;
        cached.schedule = schedule;
        self.by_use.insert(tick, id.clone());
    }

    /// Puts a request aside until its schedule is loaded. True if it is the first to wait for it.
    pub(super) fn park(&mut self, id: ScheduleId, incoming: Incoming) -> bool {
        let waiting = self.parked.entry(id).or_default();
        waiting.push(incoming);
        waiting.len() == 1
    }

    /// Takes what was loaded. Returns the requests that waited for it.
    pub(super) fn loaded(
        &mut self,
        id: &ScheduleId,
        found: Result<Option<StoredSchedule>, Error>,
        zones: &Zones,
    ) -> Result<Vec<Incoming>, Unloaded> {
        let waiting = self.parked.remove(id).unwrap_or_default();
        // Created since it was asked for: what is in memory is newer.
        if self.by_id.contains_key(id) {
            return Ok(waiting);
        }
        let stored = match found {
            Ok(stored) => stored,
            Err(why) => return Err(Unloaded { waiting, why }),
        };
        match stored.map(|stored| read(&stored, zones)).transpose() {
            Ok(schedule) => {
                self.insert(id, schedule.map(Arc::new));
                Ok(waiting)
            }
            Err(why) => Err(Unloaded { waiting, why }),
        }
    }

    pub(super) fn wait_for(&self, id: &ScheduleId) -> WaitFor {
        self.by_id.get(id).map_or(WaitFor::Nothing, |cached| cached.state.into())
    }

    /// The open batch is on its way.
    pub(super) fn sealed(&mut self) {
        self.in_flight = std::mem::take(&mut self.open);
        for id in &self.in_flight {
            if let Some(cached) = self.by_id.get_mut(id) {
                cached.state = Commit::InFlight;
            }
        }
    }

    /// The batch on its way has arrived.
    pub(super) fn committed(&mut self) {
        for id in std::mem::take(&mut self.in_flight) {
            if let Some(cached) = self.by_id.get_mut(&id)
                && cached.state == Commit::InFlight
            {
                cached.state = Commit::Durable;
            }
        }
    }

    /// Drops what was used longest ago, as long as there is too much, and never what isn't durable.
    pub(super) fn evict(&mut self) {
        let mut looked_at = 0;
        while self.has_too_much() && looked_at < 64 {
            looked_at += 1;
            let Some((tick, id)) = self.by_use.pop_first() else { return };
            match self.by_id.get(&id).map(|cached| cached.state) {
                Some(Commit::Open | Commit::InFlight) => {
                    self.by_use.insert(tick, id.clone());
                    self.find(&id);
                }
                Some(Commit::Durable) | None => {
                    let removed = self.by_id.remove(&id);
                    self.bytes -= removed.map_or(0, |cached| cached.bytes);
                }
            }
        }
    }

    /// Bytes of all schedules in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A schedule that is alone may be of any size.
    fn has_too_much(&self) -> bool {
        self.by_id.len() > self.capacity || (self.bytes > self.bytes_max && self.by_id.len() > 1)
    }

    pub(super) fn take_parked(&mut self) -> Vec<Incoming> {
        std::mem::take(&mut self.parked).into_values().flatten().collect()
    }
}

/// A schedule from its rows.
pub(crate) fn read(stored: &StoredSchedule, zones: &Zones) -> Result<Schedule, Error> {
    let parts = stored.parts.iter().map(|(part, value)| (part, value.as_slice()));
    Schedule::from_rows(stored.key, &stored.head, parts, zones)
        .map_err(|error| Error::Corrupt(error.to_string()))
}
