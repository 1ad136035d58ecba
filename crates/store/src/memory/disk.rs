//! The tables of a store in memory, and the cells that may write them.

use perennial_engine::{EntityId, EntityKey, Kind, PartId, SlotRange, Time};

use super::cluster::NodeRow;
use super::table::Table;
use crate::{
    BatchId, CellId, Epoch, Error, Fragment, Lease, Log, RecordKind, StoredCell, StoredMessage,
    TaskRow, visibility,
};

/// All that a [`MemoryStore`](crate::MemoryStore) has committed. A copy of it is a copy of the disk.
#[derive(Debug, Clone)]
pub struct Disk {
    pub(super) cells: Table<CellId, StoredCell>,
    pub(super) nodes: Table<String, NodeRow>,
    /// The clock by which the leases of nodes end.
    pub(super) now: Time,
    pub(super) entities: Table<EntityKey, EntityRow>,
    /// Every entity of each id: the last is the latest.
    pub(super) ids: Table<(EntityId, EntityKey), ()>,
    /// Every run, by the bytes of its run id.
    pub(super) run_ids: Table<[u8; 16], EntityKey>,
    /// The current run of each workflow id.
    pub(super) current_runs: Table<EntityId, EntityKey>,
    pub(super) parts: Table<(EntityKey, PartId), Vec<u8>>,
    /// By branch and first event.
    pub(super) history: Table<(EntityKey, i64), Fragment>,
    /// A branch, and a run that goes on from it.
    pub(super) branch_references: Table<(EntityKey, EntityKey), ()>,
    pub(super) logs: Table<(EntityKey, Log, i64), Vec<u8>>,
    pub(super) wakes: Table<(Time, EntityKey), ()>,
    pub(super) tasks: Table<i64, TaskRow>,
    pub(super) messages: Table<i64, StoredMessage>,
    pub(super) records: Table<(RecordKind, String), Vec<u8>>,
    pub(super) visibility: Table<i64, visibility::Row>,
}

/// The columns of an entity that have no table of their own.
#[derive(Debug, Clone)]
pub(super) struct EntityRow {
    pub(super) id: EntityId,
    /// Given for runs.
    pub(super) run: Option<RunColumns>,
    pub(super) head: Vec<u8>,
    pub(super) wake_at: Time,
}

/// The columns that only runs have.
#[derive(Debug, Clone)]
pub(super) struct RunColumns {
    pub(super) run_id: String,
    pub(super) ancestors: Vec<EntityKey>,
    pub(super) first_branch: EntityKey,
}

impl Default for Disk {
    /// An empty disk with one cell, which has every slot.
    fn default() -> Self {
        let mut disk = Self {
            cells: Table::default(),
            nodes: Table::default(),
            now: Time(0),
            entities: Table::default(),
            ids: Table::default(),
            run_ids: Table::default(),
            current_runs: Table::default(),
            parts: Table::default(),
            history: Table::default(),
            branch_references: Table::default(),
            logs: Table::default(),
            wakes: Table::default(),
            tasks: Table::default(),
            messages: Table::default(),
            records: Table::default(),
            visibility: Table::default(),
        };
        disk.put_cells(&[SlotRange::ALL], Epoch(0));
        disk.keep();
        disk
    }
}

impl Disk {
    pub(super) fn lease(&mut self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        self.undo();
        let epoch = self.next_epoch();
        let Some(before) = self.cells.get(&cell).cloned() else {
            return Err(Error::Fenced(format!("there is no cell {cell}")));
        };
        let StoredCell { slots, .. } = before;
        let last_batch = BatchId { epoch: before.epoch, sequence: before.sequence };
        let owner = owner.to_owned();
        self.cells.put(cell, StoredCell { slots, owner, epoch, sequence: 0 });
        self.keep();
        Ok(Lease { slots, epoch, last_batch })
    }

    pub(super) fn divide(&mut self, ranges: &[SlotRange]) {
        self.undo();
        let epoch = self.next_epoch();
        let before: Vec<_> = self.cells.values().map(|cell| CellId(cell.slots.first())).collect();
        before.iter().for_each(|cell| self.cells.remove(cell));
        self.put_cells(ranges, epoch);
        self.keep();
    }

    pub(super) fn put_cells(&mut self, ranges: &[SlotRange], epoch: Epoch) {
        for &slots in ranges {
            let owner = String::new();
            let cell = StoredCell { slots, owner, epoch, sequence: 0 };
            self.cells.put(CellId(slots.first()), cell);
        }
    }

    pub(super) fn next_epoch(&self) -> Epoch {
        Epoch(self.cells.values().map(|cell| cell.epoch.0).max().unwrap_or(0) + 1)
    }

    /// The key of the current entity of an id.
    pub(super) fn current(&self, id: &EntityId) -> Option<EntityKey> {
        if id.kind == Kind::Run {
            return self.current_runs.get(id).copied();
        }
        let all = (id.clone(), EntityKey(i64::MIN))..=(id.clone(), EntityKey(i64::MAX));
        self.ids.range(all).next_back().map(|((_, latest), ())| *latest)
    }

    /// Keeps or undoes the changes of every table.
    fn for_each_table(&mut self, keep: bool) {
        macro_rules! each {
            ($($table:ident)*) => {$(
                if keep { self.$table.keep() } else { self.$table.undo() }
            )*};
        }
        each! {
            cells nodes entities ids run_ids current_runs parts history branch_references logs
            wakes tasks messages records visibility
        }
    }

    /// Commits everything that was applied so far.
    pub(super) fn keep(&mut self) {
        self.for_each_table(true);
    }

    /// Undoes everything that was applied since the last `keep`.
    pub(super) fn undo(&mut self) {
        self.for_each_table(false);
    }
}
