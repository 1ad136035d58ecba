//! Short ways to write and read rows.

use perennial_engine::{
    EntityId, EntityKey, EntityRef, Kind, NamespaceKey, PartId, SlotRange, Time,
};
use perennial_store::{
    Batch, CellId, EntityWrite, Epoch, Error, Fragment, MessageWrite, NewEntity, NewRun,
    RecordWrite, Store, StoredEntity, TaskWrite,
};

pub(crate) const NAMESPACE: NamespaceKey = NamespaceKey(1);

/// A cell that commits one batch after the other.
pub(crate) struct Owner<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) cell: CellId,
    pub(crate) epoch: Epoch,
    /// The number of the last batch that was committed.
    pub(crate) sequence: u64,
}

impl<'a> Owner<'a> {
    pub(crate) fn of(store: &'a dyn Store, cell: CellId) -> Self {
        Self { store, cell, epoch: store.lease(cell, "test").unwrap().epoch, sequence: 0 }
    }

    /// The owner of the cell that begins with the first slot.
    pub(crate) fn first(store: &'a dyn Store) -> Self {
        Self::of(store, CellId::FIRST)
    }

    /// The next batch, not yet committed.
    pub(crate) fn batch(&self, rows: impl Into<Rows>) -> Batch {
        let Rows { entities, tasks, messages, records } = rows.into();
        let Self { cell, epoch, .. } = *self;
        let sequence = self.sequence + 1;
        Batch { cell, epoch, sequence, entities, tasks, messages, records }
    }

    pub(crate) fn try_commit(&mut self, rows: impl Into<Rows>) -> Result<(), Error> {
        self.store.commit(&[self.batch(rows)])?;
        self.sequence += 1;
        Ok(())
    }

    pub(crate) fn commit(&mut self, rows: impl Into<Rows>) {
        self.try_commit(rows).unwrap();
    }

    /// Commits rows that don't fit, and returns the reason of the refusal.
    pub(crate) fn conflict(&mut self, rows: impl Into<Rows>) -> String {
        match self.try_commit(rows) {
            Err(Error::Conflict(problem)) => problem,
            other => panic!("expected a conflict, got {other:?}"),
        }
    }
}

/// Divides the slots into two cells, which nobody owns yet.
pub(crate) fn divide_in_two(store: &dyn Store) -> [CellId; 2] {
    let halves = SlotRange::divided(2);
    store.divide(&halves).unwrap();
    [CellId(halves[0].first()), CellId(halves[1].first())]
}

/// The rows of a batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) entities: Vec<EntityWrite>,
    pub(crate) tasks: Vec<TaskWrite>,
    pub(crate) messages: Vec<MessageWrite>,
    pub(crate) records: Vec<RecordWrite>,
}

impl From<Vec<EntityWrite>> for Rows {
    fn from(entities: Vec<EntityWrite>) -> Self {
        Self { entities, ..Self::default() }
    }
}

impl From<EntityWrite> for Rows {
    fn from(entity: EntityWrite) -> Self {
        vec![entity].into()
    }
}

impl From<Vec<TaskWrite>> for Rows {
    fn from(tasks: Vec<TaskWrite>) -> Self {
        Self { tasks, ..Self::default() }
    }
}

impl From<Vec<MessageWrite>> for Rows {
    fn from(messages: Vec<MessageWrite>) -> Self {
        Self { messages, ..Self::default() }
    }
}

impl From<Vec<RecordWrite>> for Rows {
    fn from(records: Vec<RecordWrite>) -> Self {
        Self { records, ..Self::default() }
    }
}

/// A write of a run that changes nothing yet.
pub(crate) fn change(key: i64) -> EntityWrite {
    EntityWrite::of(Kind::Run, EntityKey(key))
}

/// A new run with the head `new` and events 1 and 2, not the current one.
pub(crate) fn new_run(key: i64, workflow_id: &str) -> EntityWrite {
    let run = NewRun { run_id: run_id(key), ancestors: vec![], first_branch: EntityKey(key) };
    let id = EntityId::workflow(NAMESPACE, workflow_id);
    EntityWrite {
        created: Some(NewEntity { id, run: Some(run) }),
        head: Some(b"new".to_vec()),
        history: vec![fragment(1, 2)],
        ..change(key)
    }
}

/// The columns that only runs have, of a write that creates a run.
pub(crate) fn created_run(write: &mut EntityWrite) -> &mut NewRun {
    write.created.as_mut().and_then(|created| created.run.as_mut()).unwrap()
}

/// A new run that goes on after event 2 of others, the first of which holds its first event.
pub(crate) fn reset_run(key: i64, workflow_id: &str, ancestors: &[i64]) -> EntityWrite {
    let mut write = new_run(key, workflow_id);
    write.history = vec![fragment(3, 4)];
    let run = created_run(&mut write);
    run.ancestors = ancestors.iter().copied().map(EntityKey).collect();
    run.first_branch = EntityKey(ancestors[0]);
    write
}

pub(crate) fn current(write: EntityWrite) -> EntityWrite {
    EntityWrite { becomes_current: true, ..write }
}

pub(crate) fn head(key: i64, head: &str) -> EntityWrite {
    EntityWrite { head: Some(head.into()), ..change(key) }
}

pub(crate) fn parts(key: i64, parts: Vec<(PartId, Option<Vec<u8>>)>) -> EntityWrite {
    EntityWrite { parts, ..change(key) }
}

pub(crate) fn events(key: i64, history: Vec<Fragment>) -> EntityWrite {
    EntityWrite { history, ..change(key) }
}

pub(crate) fn wake(write: EntityWrite, at: i64) -> EntityWrite {
    EntityWrite { wake_at: Some(Time(at)), ..write }
}

pub(crate) fn delete(key: i64) -> EntityWrite {
    EntityWrite { deleted: true, ..change(key) }
}

/// A write of a schedule that changes nothing yet.
pub(crate) fn change_schedule(key: i64) -> EntityWrite {
    EntityWrite::of(Kind::Schedule, EntityKey(key))
}

/// A new schedule with the head `new`.
pub(crate) fn new_schedule(key: i64, schedule_id: &str) -> EntityWrite {
    let id = EntityId::schedule(NAMESPACE, schedule_id);
    EntityWrite {
        created: Some(NewEntity { id, run: None }),
        head: Some(b"new".to_vec()),
        ..change_schedule(key)
    }
}

pub(crate) fn delete_schedule(key: i64) -> EntityWrite {
    EntityWrite { deleted: true, ..change_schedule(key) }
}

/// Bytes that say which events they stand for.
pub(crate) fn fragment(first_event_id: i64, last_event_id: i64) -> Fragment {
    let bytes = format!("{first_event_id}-{last_event_id}").into();
    Fragment { first_event_id, last_event_id, bytes }
}

/// A UUID that goes with the key.
pub(crate) fn run_id(key: i64) -> String {
    format!("0190163d-8694-7000-8000-{key:012x}")
}

/// Loads one entity.
pub(crate) fn try_load(
    store: &dyn Store,
    wanted: EntityRef,
) -> Result<Option<StoredEntity>, Error> {
    let [found] = <[_; 1]>::try_from(store.load(&[wanted])).unwrap();
    found
}

/// The current run of a workflow.
pub(crate) fn load(store: &dyn Store, workflow_id: &str) -> Option<StoredEntity> {
    let id = EntityId::workflow(NAMESPACE, workflow_id);
    try_load(store, EntityRef::current(id)).unwrap()
}

/// The run that was created under a key.
pub(crate) fn load_by_id(store: &dyn Store, workflow_id: &str, key: i64) -> Option<StoredEntity> {
    try_load(store, EntityRef::run(NAMESPACE, workflow_id, &run_id(key))).unwrap()
}

pub(crate) fn load_schedule(store: &dyn Store, schedule_id: &str) -> Option<StoredEntity> {
    let id = EntityId::schedule(NAMESPACE, schedule_id);
    try_load(store, EntityRef::current(id)).unwrap()
}
