//! The tables, and who may write them.

use perennial_engine::{NamespaceKey, PartKey, RunKey, ScheduleKey, SchedulePart, Slot, Time};

use super::table::Table;
use crate::{
    Epoch, Fragment, LastBatch, Lease, Log, RecordKind, StoredMessage, TaskRow, visibility,
};

/// All that a [`MemoryStore`](crate::MemoryStore) has committed. A copy of it is a copy of the disk.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    pub(super) leases: Table<u32, LeaseRow>,
    pub(super) runs: Table<RunKey, RunRow>,
    /// Every run, by the bytes of its run id.
    pub(super) run_ids: Table<[u8; 16], RunKey>,
    /// The latest run of each workflow id.
    pub(super) current_runs: Table<(NamespaceKey, String), RunKey>,
    pub(super) parts: Table<(RunKey, PartKey), Vec<u8>>,
    /// By branch and first event.
    pub(super) history: Table<(RunKey, i64), Fragment>,
    /// Branch, and a run that goes on from it.
    pub(super) branch_references: Table<(RunKey, RunKey), ()>,
    pub(super) schedules: Table<ScheduleKey, ScheduleRow>,
    /// Every incarnation of each schedule id: the last is the latest.
    pub(super) schedule_ids: Table<(NamespaceKey, String, ScheduleKey), ()>,
    pub(super) schedule_parts: Table<(ScheduleKey, SchedulePart), Vec<u8>>,
    pub(super) schedule_log: Table<(ScheduleKey, Log, i64), Vec<u8>>,
    /// By time and number of the key, which no run has in common with a schedule.
    pub(super) wakes: Table<(Time, i64), SleeperKey>,
    pub(super) tasks: Table<i64, TaskRow>,
    pub(super) messages: Table<i64, StoredMessage>,
    pub(super) records: Table<(RecordKind, String), Vec<u8>>,
    /// By the number of a run's key, or a schedule's.
    pub(super) visibility: Table<i64, visibility::Row>,
}

/// Who owns a cell, and how far it got.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaseRow {
    pub(super) epoch: Epoch,
    pub(super) sequence: u64,
}

/// A run without what is in tables of its own.
#[derive(Debug, Clone)]
pub(super) struct RunRow {
    pub(super) namespace: NamespaceKey,
    pub(super) workflow_id: String,
    pub(super) run_id: String,
    pub(super) slot: Slot,
    pub(super) ancestors: Vec<RunKey>,
    pub(super) first_branch: RunKey,
    pub(super) head: Vec<u8>,
    pub(super) wake_at: Time,
}

/// A schedule without what is in tables of its own.
#[derive(Debug, Clone)]
pub(super) struct ScheduleRow {
    pub(super) namespace: NamespaceKey,
    pub(super) schedule_id: String,
    pub(super) slot: Slot,
    pub(super) head: Vec<u8>,
    pub(super) wake_at: Time,
}

/// Whose wake-up it is: in which table to look.
#[derive(Debug, Clone, Copy)]
pub(super) enum SleeperKey {
    Run(RunKey),
    Schedule(ScheduleKey),
}

impl Disk {
    pub(super) fn lease(&mut self, cell: u32) -> Lease {
        self.undo();
        let greatest = self.leases.values().map(|lease| lease.epoch.0).max().unwrap_or(0);
        let epoch = Epoch(greatest + 1);
        let before = self.leases.get(&cell);
        let last_batch = before.map(|it| LastBatch { epoch: it.epoch, sequence: it.sequence });
        self.leases.put(cell, LeaseRow { epoch, sequence: 0 });
        self.keep();
        Lease { epoch, last_batch }
    }

    /// Everything applied so far is committed.
    pub(super) fn keep(&mut self) {
        self.leases.keep();
        self.runs.keep();
        self.run_ids.keep();
        self.current_runs.keep();
        self.parts.keep();
        self.history.keep();
        self.branch_references.keep();
        self.schedules.keep();
        self.schedule_ids.keep();
        self.schedule_parts.keep();
        self.schedule_log.keep();
        self.wakes.keep();
        self.tasks.keep();
        self.messages.keep();
        self.records.keep();
        self.visibility.keep();
    }

    /// Nothing applied since the last `keep` has happened.
    pub(super) fn undo(&mut self) {
        self.leases.undo();
        self.runs.undo();
        self.run_ids.undo();
        self.current_runs.undo();
        self.parts.undo();
        self.history.undo();
        self.branch_references.undo();
        self.schedules.undo();
        self.schedule_ids.undo();
        self.schedule_parts.undo();
        self.schedule_log.undo();
        self.wakes.undo();
        self.tasks.undo();
        self.messages.undo();
        self.records.undo();
        self.visibility.undo();
    }
}
