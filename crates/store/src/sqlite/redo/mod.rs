//! What is durable and not yet in the tables.
//!
//! A commit appends its batches to a file ([`file`]) and is done. The tables follow, many commits in one
//! transaction: a burst of starts reaches its workers before it is sorted into indexes, and a page that many
//! commits change is written once. Whoever reads what a batch in the file has touched has it brought into the
//! tables first ([`Unapplied`] knows what that is).
//!
//! A batch that contradicts what is stored is refused before it is appended ([`known`]): the file holds only
//! what the tables will take.

mod encode;
mod file;
mod known;
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
use self::known::Known;
use self::record::RECORD_HEADER_BYTES;
use super::cells;
use super::transaction::Transaction;
use crate::check::follows;
use crate::{Batch, CellId, Epoch, Error};

pub(super) use self::encode::decode;
pub(super) use self::file::{LeftFile, RedoFile, about};
pub(super) use self::recover::{Recovered, recover};
pub(super) use self::state::{RedoState, fresh_salt, set_in_use, settle};

/// From this many bytes on the tables are brought up to date though commits go on: a server that is killed has
/// to bring in what isn't there before it is ready again.
const BYTES_WANTED: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Redo {
    file: RedoFile,
    /// Of cells that were leased or written since the file was opened.
    leases: HashMap<CellId, (Epoch, u64)>,
    known: Known,
    /// Looks at the tables, and is never busy with anything else.
    tables: Connection,
    /// In the segment that is written.
    current: Unapplied,
    /// In the other one.
    applying: Unapplied,
    /// How often the tables have been brought up to date.
    applied: u64,
    /// A write or a sync failed: nobody knows what the file holds after its last record.
    is_broken: bool,
    buffer: Vec<u8>,
}

/// What became of batches that were to be appended.
pub(super) enum Appended {
    /// They are durable.
    Durable {
        /// Whoever brings the tables up to date had better hear of it.
        wakes: bool,
    },
    /// They have to go into the tables themselves.
    NotHere,
}

/// Batches that aren't in the tables, and what they touch.
#[derive(Debug, Default)]
struct Unapplied {
    records: Arc<Vec<Vec<u8>>>,
    /// Of the last of them.
    last_number: u64,
    bytes: usize,
    since: Option<Instant>,
    last: Option<Instant>,
    /// Keys of the entities that were written.
    keys: HashSet<i64>,
    /// Ids under which entities were created.
    ids: HashSet<EntityId>,
    /// A run that existed has become current, and only its key is known.
    has_renames: bool,
    /// Entities were deleted, and with them the history that others may have gone on from.
    has_deletions: bool,
}

impl Unapplied {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn note(&mut self, batch: &Batch) {
        for entity in &batch.entities {
            self.keys.insert(entity.key.0);
            self.has_renames |= entity.becomes_current && entity.created.is_none();
            self.has_deletions |= entity.deleted;
            if let Some(new) = &entity.created {
                self.ids.insert(new.id.clone());
            }
        }
    }
}

impl Redo {
    /// Begins with an empty file.
    pub(super) fn new(file: RedoFile, tables: Connection) -> Self {
        Self {
            file,
            leases: HashMap::new(),
            known: Known::default(),
            tables,
            current: Unapplied::default(),
            applying: Unapplied::default(),
            applied: 0,
            is_broken: false,
            buffer: Vec::new(),
        }
    }

    /// Number of the last record that was appended, or tried to be.
    pub(super) fn last_number(&self) -> u64 {
        self.file.last_number()
    }

    /// Makes batches durable here, if it is certain that the tables will take them.
    pub(super) fn append(&mut self, batches: &[Batch]) -> Result<Appended, Error> {
        let mut leases = HashMap::new();
        for batch in batches {
            if let Some(lease) = self.lease(batch.cell)? {
                leases.insert(batch.cell, lease);
            }
        }
        let staged = {
            // Each new entity is looked up: in one transaction, so that SQLite locks and unlocks once for all.
            let has_new =
                batches.iter().flat_map(|batch| &batch.entities).any(|it| it.created.is_some());
            let one_state = has_new.then(|| Transaction::of_reader(&self.tables));
            let _one_state = one_state.transpose()?;
            let mut view = self.known.view(&self.tables);
            for batch in batches {
                follows(batch, leases.get(&batch.cell).copied())?;
                leases.insert(batch.cell, (batch.epoch, batch.sequence));
                if self.is_broken || !view.surely_takes(batch)? {
                    return Ok(Appended::NotHere);
                }
            }
            view.into_staged()
        };
        self.buffer.clear();
        self.buffer.resize(RECORD_HEADER_BYTES, 0);
        encode(batches, &mut self.buffer);
        match self.file.append(&mut self.buffer) {
            Ok(true) => {}
            Ok(false) => return Ok(Appended::NotHere),
            Err(error) => {
                self.is_broken = true;
                return Err(error);
            }
        }
        self.known.add(staged);
        self.leases.extend(leases);
        let was_wanted = self.current.bytes >= BYTES_WANTED;
        let was_empty = self.current.is_empty();
        let now = Instant::now();
        let record = self.buffer[RECORD_HEADER_BYTES..].to_vec();
        self.current.bytes += record.len();
        self.current.since.get_or_insert(now);
        self.current.last = Some(now);
        Arc::make_mut(&mut self.current.records).push(record);
        self.current.last_number = self.file.last_number();
        batches.iter().for_each(|batch| self.current.note(batch));
        let wakes = was_empty || (!was_wanted && self.current.bytes >= BYTES_WANTED);
        Ok(Appended::Durable { wakes })
    }

    /// The batches are in the tables, where they went directly, after all others.
    pub(super) fn went_into_tables(&mut self, batches: &[Batch]) {
        for batch in batches {
            self.leases.insert(batch.cell, (batch.epoch, batch.sequence));
        }
        self.known.forget(batches);
        self.mend();
    }

    /// The cell has a new owner.
    pub(super) fn leased(&mut self, cell: CellId, epoch: Epoch) {
        self.leases.insert(cell, (epoch, 0));
        self.known.leased(epoch);
        self.mend();
    }

    /// The slots were divided anew: no owner of before may write.
    pub(super) fn divided(&mut self) {
        self.leases.clear();
        self.mend();
    }

    /// What is to go into the tables next, if anything is, and the number of the last record of it.
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

    /// It is there, durably.
    pub(super) fn is_applied(&mut self) {
        self.applying = Unapplied::default();
        self.applied += 1;
        self.known.is_applied(&self.current.keys);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty() && self.applying.is_empty()
    }

    /// When the tables are to be brought up to date: now, or how long to wait. `None`: there is nothing.
    pub(super) fn due(&self, idle: Duration, late: Duration) -> Option<Due> {
        if !self.applying.is_empty() || self.current.bytes >= BYTES_WANTED {
            return Some(Due::Now);
        }
        let (since, last) = (self.current.since?, self.current.last?);
        let left = idle.saturating_sub(last.elapsed()).min(late.saturating_sub(since.elapsed()));
        Some(if left.is_zero() { Due::Now } else { Due::In(left) })
    }

    /// Changes whenever the tables do.
    pub(super) fn applied(&self) -> u64 {
        self.applied
    }

    /// Whether an entity of this id is missing in the tables, or they name an earlier one as the current. Whether
    /// they are up to date about the one they name, [`Self::touches`] says.
    pub(super) fn touches_id(&self, id: &EntityId) -> bool {
        self.any(|unapplied| unapplied.has_renames || unapplied.ids.contains(id))
    }

    /// Whether the tables may hold an old state of an entity.
    pub(super) fn touches(&self, key: EntityKey) -> bool {
        self.any(|unapplied| unapplied.keys.contains(&key.0))
    }

    /// Whether the tables may lack events of a branch, or hold some that are gone.
    pub(super) fn touches_branch(&self, branch: EntityKey) -> bool {
        self.any(|unapplied| unapplied.has_deletions || unapplied.keys.contains(&branch.0))
    }

    /// After a failure, when everything is in the tables: what the file holds doesn't matter any more.
    fn mend(&mut self) {
        if self.is_broken {
            self.change_segments();
        }
    }

    fn change_segments(&mut self) {
        self.file.change_segments();
        self.known.change_segments();
        // Records in the other segment follow none that failed.
        self.is_broken = false;
    }

    fn any(&self, is_so: impl Fn(&Unapplied) -> bool) -> bool {
        is_so(&self.current) || is_so(&self.applying)
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

/// When something is to be done.
pub(super) enum Due {
    Now,
    In(Duration),
}
