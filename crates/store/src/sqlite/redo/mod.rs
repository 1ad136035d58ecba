//! The redo log: batches that are durable and not yet in the tables.
//!
//! A commit appends its batches to a file ([`file`]) and returns. A thread applies them to the tables later, many
//! commits in one transaction: a burst of starts reaches its workers before it is sorted into indexes, and a page
//! that many commits change is written once. A read of something that an unapplied batch has changed applies the
//! batches first ([`Unapplied`] tells).
//!
//! A batch is appended only if it certainly fits the tables ([`entity_cache`]). Any other batch is written to the
//! tables directly, which accept or refuse it.

mod encode;
mod entity_cache;
mod file;
mod record;
mod recover;
mod state;
mod version_2;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use perennial_engine::{EntityId, EntityKey};
use rusqlite::Connection;

use self::encode::encode;
use self::entity_cache::EntityCache;
use self::record::RECORD_HEADER_BYTES;
use super::cells;
use super::transaction::Transaction;
use crate::check::check_order;
use crate::{Batch, CellId, Epoch, Error};

pub(super) use self::encode::decode;
pub(super) use self::file::{PreviousFile, RedoFile, about};
pub(super) use self::recover::{Recovered, recover};
pub(super) use self::state::{RedoState, fresh_salt, mark_applied, set_in_use};

/// From this many unapplied bytes on the tables are brought up to date even while commits go on: a server that was
/// killed has to apply them before it is ready again.
const APPLY_FROM_BYTES: usize = 4 << 20;

/// The redo file, and what is known about the batches in it.
#[derive(Debug)]
pub(super) struct Redo {
    file: RedoFile,
    /// Epoch and last sequence of the cells that were leased or written since the file was opened.
    leases: HashMap<CellId, (Epoch, u64)>,
    cache: EntityCache,
    /// A connection for lookups in the tables, used for nothing else.
    tables: Connection,
    /// The batches of the segment that is written.
    current: Unapplied,
    /// The batches of the other segment.
    applying: Unapplied,
    /// How often batches have been applied to the tables.
    applied: u64,
    /// A write or a sync failed: the content of the file after its last record is unknown.
    is_broken: bool,
    buffer: Vec<u8>,
}

/// The result of [`Redo::append`].
pub(super) enum Appended {
    /// The batches are durable.
    Durable {
        /// Whether the thread that applies batches has to be notified.
        notify: bool,
    },
    /// The redo file can't take the batches: the caller has to write them to the tables.
    MustUseTables,
}

/// Batches that aren't in the tables, and what they change.
#[derive(Debug, Default)]
struct Unapplied {
    records: Arc<Vec<Vec<u8>>>,
    /// The number of the last record.
    last_number: u64,
    bytes: usize,
    /// When the first record was appended.
    first_at: Option<Instant>,
    /// When the last record was appended.
    last_at: Option<Instant>,
    /// Keys of the entities that were written.
    keys: HashSet<i64>,
    /// Ids under which entities were created.
    ids: HashSet<EntityId>,
    /// An existing run has become current. Its id isn't in the batch.
    changes_current_run: bool,
    /// Entities were deleted, and with them the history that reset runs may need.
    has_deletions: bool,
}

impl Unapplied {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn add(&mut self, batch: &Batch) {
        for entity in &batch.entities {
            self.keys.insert(entity.key.0);
            self.changes_current_run |= entity.becomes_current && entity.created.is_none();
            self.has_deletions |= entity.deleted;
            if let Some(new) = &entity.created {
                self.ids.insert(new.id.clone());
            }
        }
    }
}

impl Redo {
    /// A redo log with an empty file.
    pub(super) fn new(file: RedoFile, tables: Connection) -> Self {
        Self {
            file,
            leases: HashMap::new(),
            cache: EntityCache::default(),
            tables,
            current: Unapplied::default(),
            applying: Unapplied::default(),
            applied: 0,
            is_broken: false,
            buffer: Vec::new(),
        }
    }

    /// The number of the last record that was appended, or whose append failed.
    pub(super) fn last_number(&self) -> u64 {
        self.file.last_number()
    }

    /// Makes batches durable in the file, if it is certain that they fit the tables.
    pub(super) fn append(&mut self, batches: &[Batch]) -> Result<Appended, Error> {
        let mut leases = HashMap::new();
        for batch in batches {
            if let Some(lease) = self.lease(batch.cell)? {
                leases.insert(batch.cell, lease);
            }
        }
        let staged = {
            // Each new entity is looked up. In one transaction, so that SQLite locks and unlocks only once.
            let has_new =
                batches.iter().flat_map(|batch| &batch.entities).any(|it| it.created.is_some());
            let one_state = has_new.then(|| Transaction::of_reader(&self.tables));
            let _one_state = one_state.transpose()?;
            let mut view = self.cache.view(&self.tables);
            for batch in batches {
                check_order(batch, leases.get(&batch.cell).copied())?;
                leases.insert(batch.cell, (batch.epoch, batch.sequence));
                if self.is_broken || !view.will_fit(batch)? {
                    return Ok(Appended::MustUseTables);
                }
            }
            view.into_staged()
        };
        self.buffer.clear();
        self.buffer.resize(RECORD_HEADER_BYTES, 0);
        encode(batches, &mut self.buffer);
        match self.file.append(&mut self.buffer) {
            Ok(true) => {}
            Ok(false) => return Ok(Appended::MustUseTables),
            Err(error) => {
                self.is_broken = true;
                return Err(error);
            }
        }
        self.cache.add(staged);
        self.leases.extend(leases);
        let was_due = self.current.bytes >= APPLY_FROM_BYTES;
        let was_empty = self.current.is_empty();
        let now = Instant::now();
        let record = self.buffer[RECORD_HEADER_BYTES..].to_vec();
        self.current.bytes += record.len();
        self.current.first_at.get_or_insert(now);
        self.current.last_at = Some(now);
        Arc::make_mut(&mut self.current.records).push(record);
        self.current.last_number = self.file.last_number();
        batches.iter().for_each(|batch| self.current.add(batch));
        let notify = was_empty || (!was_due && self.current.bytes >= APPLY_FROM_BYTES);
        Ok(Appended::Durable { notify })
    }

    /// Call after batches were written to the tables directly, with all earlier batches applied.
    pub(super) fn written_to_tables(&mut self, batches: &[Batch]) {
        for batch in batches {
            self.leases.insert(batch.cell, (batch.epoch, batch.sequence));
        }
        self.cache.forget(batches);
        self.reset_after_failure();
    }

    /// Call after a cell was leased, with all batches applied.
    pub(super) fn leased(&mut self, cell: CellId, epoch: Epoch) {
        self.leases.insert(cell, (epoch, 0));
        self.cache.leased(epoch);
        self.reset_after_failure();
    }

    /// Call after the slots were divided, with all batches applied: earlier owners may not write.
    pub(super) fn divided(&mut self) {
        self.leases.clear();
        self.reset_after_failure();
    }

    /// The records to apply to the tables next, if there are any, and the number of the last one.
    pub(super) fn next_to_apply(&mut self) -> Option<(Arc<Vec<Vec<u8>>>, u64)> {
        if self.applying.is_empty() {
            if self.current.is_empty() {
                return None;
            }
            self.applying = std::mem::take(&mut self.current);
            self.change_segments();
        }
        Some((Arc::clone(&self.applying.records), self.applying.last_number))
    }

    /// Call after the records of [`Self::next_to_apply`] are durable in the tables.
    pub(super) fn finish_applying(&mut self) {
        self.applying = Unapplied::default();
        self.applied += 1;
        self.cache.forget_applied(&self.current.keys);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty() && self.applying.is_empty()
    }

    /// When batches have to be applied to the tables; `None` if there are none.
    pub(super) fn due(&self, idle: Duration, late: Duration) -> Option<Due> {
        if !self.applying.is_empty() || self.current.bytes >= APPLY_FROM_BYTES {
            return Some(Due::Now);
        }
        let (first_at, last_at) = (self.current.first_at?, self.current.last_at?);
        let until_idle = idle.saturating_sub(last_at.elapsed());
        let left = until_idle.min(late.saturating_sub(first_at.elapsed()));
        Some(if left.is_zero() { Due::Now } else { Due::In(left) })
    }

    /// A counter that changes whenever batches are applied to the tables.
    pub(super) fn applied(&self) -> u64 {
        self.applied
    }

    /// Whether the tables may lack an entity of this id, or name an earlier one as the current. Whether the tables
    /// hold the latest state of the one they name, [`Self::touches`] tells.
    pub(super) fn touches_id(&self, id: &EntityId) -> bool {
        self.any(|unapplied| unapplied.changes_current_run || unapplied.ids.contains(id))
    }

    /// Whether the tables may hold an old state of an entity.
    pub(super) fn touches(&self, key: EntityKey) -> bool {
        self.any(|unapplied| unapplied.keys.contains(&key.0))
    }

    /// Whether the tables may lack events of a branch, or hold deleted ones.
    pub(super) fn touches_branch(&self, branch: EntityKey) -> bool {
        self.any(|unapplied| unapplied.has_deletions || unapplied.keys.contains(&branch.0))
    }

    /// After a failed write, once everything is in the tables: the content of the file no longer matters.
    fn reset_after_failure(&mut self) {
        if self.is_broken {
            self.change_segments();
        }
    }

    fn change_segments(&mut self) {
        self.file.change_segments();
        self.cache.change_segments();
        // The other segment holds no failed record.
        self.is_broken = false;
    }

    fn any(&self, predicate: impl Fn(&Unapplied) -> bool) -> bool {
        predicate(&self.current) || predicate(&self.applying)
    }

    fn lease(&mut self, cell: CellId) -> Result<Option<(Epoch, u64)>, Error> {
        if let Some(lease) = self.leases.get(&cell) {
            return Ok(Some(*lease));
        }
        let stored = cells::progress(&self.tables, cell)?;
        if let Some(lease) = stored {
            self.leases.insert(cell, lease);
        }
        Ok(stored)
    }
}

/// When batches have to be applied.
pub(super) enum Due {
    Now,
    In(Duration),
}
