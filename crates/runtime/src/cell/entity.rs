//! A cached entity of any kind, with attached data that is never stored.
//!
//! A new kind adds a variant here, and a file for its requests. Cache, batch and messages are independent of kinds.

use std::collections::VecDeque;
use std::sync::Arc;

use perennial_engine::run::Run;
use perennial_engine::schedule::Schedule;
use perennial_engine::{Entity, EntityKey, Rows, RunPart, Unreadable, Zones};
use perennial_store::{Fragment, StoredEntity};
use prost::Message;

use super::cache::Cache;
use super::pages::Pages;
use super::queries::Queries;
use super::request::ReplyTo;
use super::schedule_requests::AwaitedStarts;
use super::updates::Updates;

/// Bytes of recent history that a cached run keeps: enough for a worker that keeps up.
const RECENT_BYTES: usize = 16 * 1024;
/// Memory of a run and of each of its parts beyond their encoded length: a high estimate.
const RUN_BYTES: usize = 4 * 1024;
const PART_BYTES: usize = 512;
/// Memory of a schedule beyond its rows, its compiled spec included: a high estimate.
const SCHEDULE_BYTES: usize = 8 * 1024;

/// A cached entity.
pub(super) enum CachedEntity {
    Run(Box<CachedRun>),
    Schedule(Box<CachedSchedule>),
}

/// A cached run.
pub(super) struct CachedRun {
    pub(super) run: Arc<Run>,
    /// Fragments of its history up to its last event, without a gap.
    recent: VecDeque<Fragment>,
    recent_bytes: usize,
    /// Bytes of its state, without attached data.
    state_bytes: usize,
    /// Callers that wait for an event of this id, or for the run's close.
    pub(super) watchers: Vec<(i64, ReplyTo)>,
    pub(super) queries: Queries,
    pub(super) updates: Updates,
    pub(super) pages: Pages,
}

/// A cached schedule.
pub(super) struct CachedSchedule {
    pub(super) schedule: Arc<Schedule>,
    bytes: usize,
    /// Callers that wait until their runs have started.
    pub(super) awaited_starts: Vec<AwaitedStarts>,
}

impl CachedEntity {
    /// An entity from its rows.
    pub(super) fn read(stored: &StoredEntity, zones: &Zones) -> Result<Self, Unreadable> {
        read(stored, zones).map(Self::from)
    }

    /// Its state.
    pub(super) fn state(&self) -> Entity {
        match self {
            Self::Run(cached) => Entity::Run(Arc::clone(&cached.run)),
            Self::Schedule(cached) => Entity::Schedule(Arc::clone(&cached.schedule)),
        }
    }

    /// Approximate memory of its state and recent history. What is attached to it isn't counted.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Run(cached) => cached.state_bytes + cached.recent_bytes,
            Self::Schedule(cached) => cached.bytes,
        }
    }

    /// Whether the entity is closed. Closed entities are evicted first.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Run(cached) => !cached.run.is_open(),
            Self::Schedule(_) => false,
        }
    }

    /// Whether a caller waits on data that is only in memory. Callers that have disconnected don't count.
    pub(super) fn is_awaited(&mut self) -> bool {
        match self {
            Self::Run(cached) => {
                cached.watchers.retain(|(_, reply)| !reply.is_gone());
                cached.queries.forget_gone();
                cached.updates.forget_gone();
                !(cached.watchers.is_empty()
                    && cached.queries.is_empty()
                    && cached.updates.is_empty()
                    && cached.pages.is_empty())
            }
            Self::Schedule(cached) => {
                cached.awaited_starts.retain(|awaited| !awaited.reply.is_gone());
                !cached.awaited_starts.is_empty()
            }
        }
    }

    /// Callers that get an error when the cell restarts. Other calls end when their entity is dropped.
    pub(super) fn take_replies(&mut self) -> Vec<ReplyTo> {
        match self {
            Self::Run(_) => Vec::new(),
            Self::Schedule(cached) => {
                std::mem::take(&mut cached.awaited_starts).into_iter().map(|it| it.reply).collect()
            }
        }
    }
}

/// The state of an entity from its rows.
pub(crate) fn read(stored: &StoredEntity, zones: &Zones) -> Result<Entity, Unreadable> {
    let StoredEntity { kind, key, head, parts, first_fragment, .. } = stored;
    let first_fragment = first_fragment.as_ref().map_or(&[][..], |fragment| &fragment.bytes);
    Entity::from_rows(*kind, Rows { key: *key, head, parts, first_fragment }, zones)
}

impl From<Entity> for CachedEntity {
    fn from(entity: Entity) -> Self {
        match entity {
            Entity::Run(run) => Self::Run(Box::new(CachedRun {
                state_bytes: run_bytes(&run),
                run,
                recent: VecDeque::new(),
                recent_bytes: 0,
                watchers: Vec::new(),
                queries: Queries::default(),
                updates: Updates::default(),
                pages: Pages::default(),
            })),
            Entity::Schedule(schedule) => Self::Schedule(Box::new(CachedSchedule {
                bytes: schedule_bytes(&schedule),
                schedule,
                awaited_starts: Vec::new(),
            })),
        }
    }
}

impl CachedRun {
    /// Replaces the run by its state after a transition, and adds the events of that.
    pub(super) fn replace<'a>(
        &mut self,
        run: Arc<Run>,
        touched: impl Iterator<Item = &'a RunPart>,
        fragments: Vec<Fragment>,
    ) {
        let (mut added, mut removed) = (run.head.encoded_len(), self.run.head.encoded_len());
        for part in touched {
            added += part_bytes(&run, part);
            removed += part_bytes(&self.run, part);
        }
        self.state_bytes = (self.state_bytes + added).saturating_sub(removed);
        self.run = run;
        fragments.into_iter().for_each(|fragment| self.keep_recent(fragment));
    }

    fn keep_recent(&mut self, fragment: Fragment) {
        self.recent_bytes += fragment.bytes.len();
        self.recent.push_back(fragment);
        while self.recent_bytes > RECENT_BYTES && self.recent.len() > 1 {
            if let Some(oldest) = self.recent.pop_front() {
                self.recent_bytes -= oldest.bytes.len();
            }
        }
    }

    /// Its history from an event on, if all of it is in memory.
    pub(super) fn recent_from(&self, first_event_id: i64) -> Vec<Fragment> {
        let reaches_back =
            self.recent.front().is_some_and(|oldest| oldest.first_event_id <= first_event_id);
        if !reaches_back {
            return Vec::new();
        }
        let begins = self.recent.partition_point(|it| it.last_event_id < first_event_id);
        self.recent.range(begins..).cloned().collect()
    }
}

impl CachedSchedule {
    /// Replaces the schedule by its state after a transition.
    pub(super) fn replace(&mut self, schedule: Arc<Schedule>) {
        self.bytes = schedule_bytes(&schedule);
        self.schedule = schedule;
    }
}

impl Cache {
    /// The run of this key, if it is in memory.
    pub(super) fn run(&self, key: EntityKey) -> Option<&CachedRun> {
        match self.get(key)? {
            CachedEntity::Run(cached) => Some(cached),
            CachedEntity::Schedule(_) => None,
        }
    }

    /// The run of this key, to change its attached data.
    pub(super) fn run_mut(&mut self, key: EntityKey) -> Option<&mut CachedRun> {
        match self.get_mut(key)? {
            CachedEntity::Run(cached) => Some(cached),
            CachedEntity::Schedule(_) => None,
        }
    }

    /// The schedule of this key, if it is in memory.
    pub(super) fn schedule(&self, key: EntityKey) -> Option<&CachedSchedule> {
        match self.get(key)? {
            CachedEntity::Schedule(cached) => Some(cached),
            CachedEntity::Run(_) => None,
        }
    }

    /// The schedule of this key, to change its attached data.
    pub(super) fn schedule_mut(&mut self, key: EntityKey) -> Option<&mut CachedSchedule> {
        match self.get_mut(key)? {
            CachedEntity::Schedule(cached) => Some(cached),
            CachedEntity::Run(_) => None,
        }
    }
}

fn run_bytes(run: &Run) -> usize {
    let parts: usize = run.part_keys().map(|part| part_bytes(run, &part)).sum();
    RUN_BYTES + run.head.encoded_len() + run.started.encoded_len() + parts
}

fn part_bytes(run: &Run, part: &RunPart) -> usize {
    match run.part_len(part) {
        0 => 0,
        bytes => PART_BYTES + bytes,
    }
}

fn schedule_bytes(schedule: &Schedule) -> usize {
    SCHEDULE_BYTES + schedule.rows_len()
}
