//! Compares a file with a store in memory: both hold the same, also while batches aren't in the tables yet, and after
//! crashes.

use std::fs;
use std::path::Path;

use perennial_engine::{EntityId, EntityKey, EntityRef, RunPart, SchedulePart, Slot, Time};
use perennial_store::{
    Batch, BatchId, CellId, Durability, EntityWrite, Epoch, HistoryRange, Log, LogLine,
    MemoryStore, SqliteStore, Store, TaskRow, TaskWrite,
};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::lists::{closed, listed, shown};
use super::model::{WORKFLOWS, describe_all, kind, with_error_kind};
use crate::writing::{
    NAMESPACE, Rows, change, change_schedule, created_run, delete, delete_schedule, fragment,
    new_run, new_schedule, reset_run, run_id, try_load,
};

/// A step of the test. Numbers choose among existing entities.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Commit(Vec<Op>),
    /// The owner is replaced.
    Lease,
    /// Compares one workflow and one schedule.
    CompareOne(usize, usize),
    /// Compares everything.
    CompareAll,
    /// The process dies, and another goes on with what it left.
    Crash,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    NewRun(usize),
    /// With the key of one that is there.
    RunAgain(usize),
    /// With the run id of one that is there.
    RunIdAgain(usize),
    ResetRun(usize),
    Change(usize, Option<i64>),
    AddEvents(usize),
    AddEventsAgain(usize),
    PutPart(usize, i64),
    DeletePart(usize, i64),
    BecomeCurrent(usize),
    Close(usize),
    Delete(usize),
    NewSchedule(usize),
    ChangeSchedule(usize, Option<i64>),
    AddLine(usize, i64),
    DeleteSchedule(usize),
    PutTask(i64),
    DeleteTask(i64),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_holds_what_memory_holds_also_after_crashes(steps in vec(step(), 1..60)) {
        let mut folder = TempDir::new().unwrap();
        let mut file = open(folder.path());
        let mut workload = Workload::default();
        workload.lease(&file);
        for step in steps {
            if let Step::Crash = step {
                let copy = copy_as_after_crash(folder.path());
                file = open(copy.path());
                folder = copy;
            }
            workload.step(&step, &file)?;
        }
        workload.step(&Step::CompareAll, &file)?;
        drop(file);
        workload.step(&Step::CompareAll, &open(folder.path()))?;
    }
}

fn open(folder: &Path) -> SqliteStore {
    // The facts are the same; only the waiting for the disk isn't.
    SqliteStore::open(folder.join("perennial.db"), Durability::ProcessCrash).unwrap()
}

/// Copies the files as a process that dies now would leave them. The redo file is copied before the tables, so that no
/// batch is missing in both.
fn copy_as_after_crash(folder: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for name in ["perennial.db-redo", "perennial.db-wal", "perennial.db"] {
        fs::copy(folder.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

/// The writes so far, and a store in memory that holds their result.
#[derive(Default)]
pub(crate) struct Workload {
    pub(crate) memory: MemoryStore,
    batch: Option<Batch>,
    /// Each with its last event.
    runs: Vec<(i64, i64)>,
    schedules: Vec<i64>,
    last_key: i64,
    values: u64,
}

impl Workload {
    fn lease(&mut self, file: &SqliteStore) {
        self.leased(file.lease(CellId::FIRST, "test").unwrap().epoch);
    }

    /// Call when the file has given a lease; earlier ones may have been lost.
    pub(crate) fn leased(&mut self, epoch: Epoch) {
        while self.memory.lease(CellId::FIRST, "test").unwrap().epoch < epoch {}
        self.batch = Some(Batch::empty(CellId::FIRST, epoch, 0));
        self.last_key = epoch.0 << 32;
    }

    /// The next batch, with these rows.
    pub(crate) fn batch(&mut self, ops: &[Op]) -> Batch {
        let mut rows = Rows::default();
        ops.iter().for_each(|op| self.write(op, &mut rows));
        let mut batch = self.batch.clone().unwrap();
        (batch.entities, batch.tasks) = (rows.entities, rows.tasks);
        batch.sequence += 1;
        batch
    }

    /// Call when that batch is durable.
    pub(crate) fn committed(&mut self) {
        self.batch.as_mut().unwrap().sequence += 1;
    }

    /// The last batch that is durable.
    pub(crate) fn last_batch(&self) -> BatchId {
        let Batch { epoch, sequence, .. } = self.batch.as_ref().unwrap();
        BatchId { epoch: *epoch, sequence: *sequence }
    }

    pub(crate) fn step(&mut self, step: &Step, file: &SqliteStore) -> Result<(), TestCaseError> {
        match step {
            Step::Lease => self.lease(file),
            Step::Commit(ops) => {
                let batches = [self.batch(ops)];
                let (result, expected) = (file.commit(&batches), self.memory.commit(&batches));
                prop_assert_eq!(kind(&result), kind(&expected), "{:?} {:?}", result, expected);
                if result.is_ok() {
                    self.committed();
                }
            }
            Step::CompareOne(which, id) => {
                let key = choose(&self.runs, *which).map_or(0, |(key, _)| key);
                let id = WORKFLOWS[id % WORKFLOWS.len()];
                prop_assert_eq!(describe_one(file, key, id), describe_one(&self.memory, key, id));
            }
            Step::CompareAll | Step::Crash => {
                let keys = |n: i64| n..n + 40;
                for epoch in 1..=self.last_key >> 32 {
                    let seen = describe_all(file, keys(epoch << 32), &self.schedules);
                    let expected = describe_all(&self.memory, keys(epoch << 32), &self.schedules);
                    prop_assert_eq!(seen, expected);
                }
            }
        }
        Ok(())
    }

    fn next_key(&mut self) -> i64 {
        self.last_key += 1;
        self.last_key
    }

    /// A value that was never written before.
    fn value(&mut self) -> Vec<u8> {
        self.values += 1;
        self.values.to_le_bytes().to_vec()
    }

    fn write(&mut self, op: &Op, rows: &mut Rows) {
        match op {
            Op::NewRun(id) => {
                let key = self.next_key();
                self.runs.push((key, 2));
                let id = WORKFLOWS[id % WORKFLOWS.len()];
                let run = EntityWrite { becomes_current: true, ..new_run(key, id) };
                rows.entities.push(shown(run, listed(key, "order", None)));
            }
            Op::RunAgain(which) => {
                let key = choose(&self.runs, *which).map_or(1, |(key, _)| key);
                rows.entities.push(new_run(key, "order"));
            }
            Op::RunIdAgain(which) => {
                let key = self.next_key();
                self.runs.push((key, 2));
                let mut run = new_run(key, "order");
                let other = choose(&self.runs, *which).map_or(key, |(key, _)| key);
                created_run(&mut run).run_id = run_id(other);
                rows.entities.push(run);
            }
            Op::ResetRun(which) => {
                let key = self.next_key();
                let Some((ancestor, _)) = choose(&self.runs, *which) else { return };
                self.runs.push((key, 4));
                rows.entities.push(reset_run(key, "order", &[ancestor]));
            }
            Op::Change(which, wake_at) => rows.entities.push(EntityWrite {
                head: Some(self.value()),
                wake_at: wake_at.map(Time),
                ..self.changed(*which)
            }),
            Op::AddEvents(which) => {
                let count = self.runs.len().max(1);
                let Some((key, last)) = self.runs.get_mut(which % count) else { return };
                let history = vec![fragment(*last + 1, *last + 2)];
                *last += 2;
                rows.entities.push(EntityWrite { history, ..change(*key) });
            }
            Op::AddEventsAgain(which) => {
                let history = vec![fragment(1, 2)];
                rows.entities.push(EntityWrite { history, ..self.changed(*which) });
            }
            Op::PutPart(which, n) => {
                let parts = vec![(RunPart::Timer(*n).row_id(), Some(self.value()))];
                rows.entities.push(EntityWrite { parts, ..self.changed(*which) });
            }
            Op::DeletePart(which, n) => {
                let parts = vec![(RunPart::Timer(*n).row_id(), None)];
                rows.entities.push(EntityWrite { parts, ..self.changed(*which) });
            }
            Op::BecomeCurrent(which) => {
                rows.entities.push(EntityWrite { becomes_current: true, ..self.changed(*which) });
            }
            Op::Close(which) => {
                let write = self.changed(*which);
                let row = listed(write.key.0, "order", Some(9));
                rows.entities.push(closed(write, row));
            }
            Op::Delete(which) => rows.entities.push(delete(self.changed(*which).key.0)),
            Op::NewSchedule(id) => {
                let key = self.next_key();
                self.schedules.push(key);
                rows.entities.push(new_schedule(key, WORKFLOWS[id % WORKFLOWS.len()]));
            }
            Op::ChangeSchedule(which, wake_at) => rows.entities.push(EntityWrite {
                head: Some(self.value()),
                wake_at: wake_at.map(Time),
                ..change_schedule(choose(&self.schedules, *which).unwrap_or(1))
            }),
            Op::AddLine(which, position) => {
                let value = self.value();
                let line = LogLine { log: Log::Ledger, position: *position, value: value.clone() };
                rows.entities.push(EntityWrite {
                    parts: vec![(SchedulePart::Buffered(*position + 1).row_id(), Some(value))],
                    log: vec![line],
                    ..change_schedule(choose(&self.schedules, *which).unwrap_or(1))
                });
            }
            Op::DeleteSchedule(which) => {
                let key = choose(&self.schedules, *which).unwrap_or(1);
                rows.entities.push(delete_schedule(key));
            }
            Op::PutTask(key) => {
                let (key, slot) = (*key, Slot(3));
                rows.tasks.push(TaskWrite::Put(TaskRow { key, slot, value: vec![1] }));
            }
            Op::DeleteTask(key) => rows.tasks.push(TaskWrite::Delete(*key)),
        }
    }

    fn changed(&self, which: usize) -> EntityWrite {
        change(choose(&self.runs, which).map_or(1, |(key, _)| key))
    }
}

fn choose<T: Copy>(among: &[T], which: usize) -> Option<T> {
    among.get(which % among.len().max(1)).copied()
}

/// A workflow, its events and a schedule, as text.
fn describe_one(store: &dyn Store, key: i64, id: &str) -> String {
    let run = with_error_kind(try_load(store, EntityRef::run(NAMESPACE, id, "")));
    let by_id = with_error_kind(try_load(store, EntityRef::run(NAMESPACE, id, &run_id(key))));
    let range = HistoryRange { branch: EntityKey(key), first_event_id: 1, last_event_id: i64::MAX };
    let events = with_error_kind(store.history(range, usize::MAX, false));
    let schedule = EntityRef::current(EntityId::schedule(NAMESPACE, id));
    let schedule = with_error_kind(try_load(store, schedule));
    format!("{run:?} {by_id:?} {events:?} {schedule:?}")
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => vec(op(), 1..4).prop_map(Step::Commit),
        6 => (any::<usize>(), any::<usize>()).prop_map(|(which, id)| Step::CompareOne(which, id)),
        1 => Just(Step::Lease),
        1 => Just(Step::CompareAll),
        1 => Just(Step::Crash),
    ]
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let wake_at = || proptest::option::of(0..5_i64);
    let which = any::<usize>;
    prop_oneof![
        8 => which().prop_map(Op::NewRun),
        1 => which().prop_map(Op::RunAgain),
        1 => which().prop_map(Op::RunIdAgain),
        1 => which().prop_map(Op::ResetRun),
        6 => (which(), wake_at()).prop_map(|(which, at)| Op::Change(which, at)),
        6 => which().prop_map(Op::AddEvents),
        1 => which().prop_map(Op::AddEventsAgain),
        3 => (which(), 1..4_i64).prop_map(|(which, n)| Op::PutPart(which, n)),
        2 => (which(), 1..4_i64).prop_map(|(which, n)| Op::DeletePart(which, n)),
        1 => which().prop_map(Op::BecomeCurrent),
        2 => which().prop_map(Op::Close),
        1 => which().prop_map(Op::Delete),
        3 => which().prop_map(Op::NewSchedule),
        4 => (which(), wake_at()).prop_map(|(which, at)| Op::ChangeSchedule(which, at)),
        3 => (which(), -1..3_i64).prop_map(|(which, n)| Op::AddLine(which, n)),
        1 => which().prop_map(Op::DeleteSchedule),
        1 => (0..4_i64).prop_map(Op::PutTask),
        1 => (0..4_i64).prop_map(Op::DeleteTask),
    ]
}
