//! A cache of entity states, which tells whether a batch fits the tables before it is applied to them.
//!
//! Entities that were written since the file was opened are cached, and others are looked up in the tables. So the
//! answer includes batches that aren't in the tables yet. Where an answer would take much work, there is none: such
//! a batch is written to the tables at once, which check it themselves.

use std::collections::{HashMap, HashSet};

use perennial_engine::Kind;
use rusqlite::{Connection, OptionalExtension, params};

use crate::check::run_id_bytes;
use crate::{Batch, EntityWrite, Epoch, Error, NewEntity};

/// If there are more, all that are in the tables are dropped from the cache.
const MAX_CACHED_ENTITIES: usize = 20_000;

/// The states of recently written entities.
#[derive(Debug, Default)]
pub(super) struct EntityCache {
    entities: HashMap<i64, EntityState>,
    /// The run ids of new runs in the segment that is written, and in the other one.
    run_ids: [HashSet<[u8; 16]>; 2],
    /// The last key made under each epoch that was leased since the file was opened. Greater keys are new.
    last_keys: HashMap<i64, i64>,
}

/// The state of an entity, as far as it matters to later writes.
#[derive(Debug, Clone, Copy)]
enum EntityState {
    Exists {
        kind: Kind,
        /// The first event of the last fragment of its own branch; 0 if it has no history.
        last_fragment: i64,
    },
    /// Deleted. The tables may still have it.
    Deleted,
}

/// Changes to the cache that take effect when the checked batches are durable.
#[derive(Debug, Default)]
pub(super) struct Staged {
    entities: HashMap<i64, EntityState>,
    run_ids: HashSet<[u8; 16]>,
    last_keys: HashMap<i64, i64>,
}

impl EntityCache {
    pub(super) fn leased(&mut self, epoch: Epoch) {
        self.last_keys.insert(epoch.0, epoch.0 << 32);
    }

    /// A view to check one batch after the other.
    pub(super) fn view<'a>(&'a self, tables: &'a Connection) -> CacheView<'a> {
        CacheView { cache: self, staged: Staged::default(), tables }
    }

    /// Adds the changes of batches that are durable now.
    pub(super) fn add(&mut self, staged: Staged) {
        let Staged { entities, run_ids, last_keys } = staged;
        self.entities.extend(entities);
        self.run_ids[0].extend(run_ids);
        self.last_keys.extend(last_keys);
    }

    /// Call when the other segment is written from now on.
    pub(super) fn change_segments(&mut self) {
        self.run_ids.swap(0, 1);
    }

    /// Forgets all entities. Everything is in the tables, and so are these batches, which didn't go through the file.
    pub(super) fn forget(&mut self, batches: &[Batch]) {
        self.entities.clear();
        for entity in batches.iter().flat_map(|batch| &batch.entities) {
            let key = entity.key.0;
            if let Some(last) = self.last_keys.get_mut(&(key >> 32)) {
                *last = key.max(*last);
            }
        }
    }

    /// Forgets deleted entities that are in the tables, and all others there if the cache is large. `unapplied` are the
    /// keys that aren't in the tables.
    pub(super) fn forget_applied(&mut self, unapplied: &HashSet<i64>) {
        self.run_ids[1].clear();
        let is_small = self.entities.len() <= MAX_CACHED_ENTITIES;
        self.entities.retain(|key, entity| {
            unapplied.contains(key) || (is_small && !matches!(entity, EntityState::Deleted))
        });
    }
}

/// The cache with the changes of the batches that were checked.
pub(super) struct CacheView<'a> {
    cache: &'a EntityCache,
    staged: Staged,
    tables: &'a Connection,
}

impl CacheView<'_> {
    /// Whether a batch, which was checked by itself, certainly fits the tables after the batches before it. `false` means
    /// that only the tables can tell.
    pub(super) fn will_fit(&mut self, batch: &Batch) -> Result<bool, Error> {
        for entity in &batch.entities {
            let Some(after) = self.state_after(entity)? else { return Ok(false) };
            self.staged.entities.insert(entity.key.0, after);
        }
        Ok(true)
    }

    pub(super) fn into_staged(self) -> Staged {
        self.staged
    }

    fn state_after(&mut self, write: &EntityWrite) -> Result<Option<EntityState>, Error> {
        let (kind, key) = (write.kind, write.key.0);
        if write.deleted {
            return Ok(Some(EntityState::Deleted));
        }
        let mut last_fragment = match &write.created {
            Some(created) if self.is_taken(key, created)? => return Ok(None),
            Some(_) => 0,
            None => match self.state(kind, key)? {
                Some(EntityState::Exists { kind: of, last_fragment }) if of == kind => {
                    last_fragment
                }
                Some(EntityState::Exists { .. } | EntityState::Deleted) | None => return Ok(None),
            },
        };
        for fragment in &write.history {
            if fragment.first_event_id <= last_fragment {
                return Ok(None);
            }
            last_fragment = fragment.first_event_id;
        }
        Ok(Some(EntityState::Exists { kind, last_fragment }))
    }

    /// Whether the key or the run id of a new entity is in use. If not, from now on they are.
    fn is_taken(&mut self, key: i64, created: &NewEntity) -> Result<bool, Error> {
        let run_id = match &created.run {
            Some(run) => match run_id_bytes(&run.run_id) {
                Some(run_id) => Some(run_id),
                None => return Ok(true),
            },
            None => None,
        };
        if !self.take_new_key(key) {
            return Ok(true);
        }
        if let Some(run_id) = run_id {
            if self.has_run_id(run_id)? {
                return Ok(true);
            }
            self.staged.run_ids.insert(run_id);
        }
        Ok(false)
    }

    /// Whether the key is certainly unused, and marks it as used.
    fn take_new_key(&mut self, key: i64) -> bool {
        let epoch = key >> 32;
        let is_above = self.cache.last_keys.get(&epoch).is_some_and(|last| key > *last);
        if !is_above || self.staged.entities.contains_key(&key) {
            return false;
        }
        let last = self.staged.last_keys.entry(epoch).or_insert(key);
        *last = key.max(*last);
        true
    }

    fn has_run_id(&self, run_id: [u8; 16]) -> Result<bool, Error> {
        let [current, applying] = &self.cache.run_ids;
        if [current, applying, &self.staged.run_ids].iter().any(|ids| ids.contains(&run_id)) {
            return Ok(true);
        }
        let sql = include_str!("../sql/run_id_exists.sql");
        Ok(self.tables.prepare_cached(sql)?.exists([run_id])?)
    }

    fn state(&self, kind: Kind, key: i64) -> Result<Option<EntityState>, Error> {
        match self.staged.entities.get(&key).or_else(|| self.cache.entities.get(&key)) {
            Some(state) => Ok(Some(*state)),
            None => stored_state(self.tables, kind, key),
        }
    }
}

/// The state of an entity in the tables.
fn stored_state(tables: &Connection, kind: Kind, key: i64) -> Result<Option<EntityState>, Error> {
    let last_fragment = if kind == Kind::Run {
        let mut statement = tables.prepare_cached(include_str!("../sql/last_fragment.sql"))?;
        statement.query_row([key], |row| row.get(0)).optional()?
    } else {
        let mut statement = tables.prepare_cached(include_str!("../sql/entity_exists.sql"))?;
        statement.exists(params![key, kind.number()])?.then_some(0)
    };
    Ok(last_fragment.map(|last_fragment| EntityState::Exists { kind, last_fragment }))
}
