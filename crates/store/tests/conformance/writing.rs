//! Short ways to write rows.

use perennial_engine::{NamespaceKey, PartWrite, RunKey, ScheduleKey, Slot, Time};
use perennial_store::{
    Batch, Epoch, Error, Fragment, MessageWrite, NewRun, NewSchedule, RecordWrite, RunWrite,
    ScheduleWrite, Store, StoredRun, StoredSchedule, TaskWrite,
};

pub(crate) const NAMESPACE: NamespaceKey = NamespaceKey(1);

/// A cell that commits one batch after the other.
pub(crate) struct Owner<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) cell: u32,
    pub(crate) epoch: Epoch,
    /// Of the last batch that was committed.
    pub(crate) sequence: u64,
}

impl<'a> Owner<'a> {
    pub(crate) fn of(store: &'a dyn Store, cell: u32) -> Self {
        Self { store, cell, epoch: store.lease(cell).unwrap().epoch, sequence: 0 }
    }

    /// The next batch, not yet committed.
    pub(crate) fn batch(&self, rows: impl Into<Rows>) -> Batch {
        let Rows { runs, schedules, tasks, messages, records } = rows.into();
        let Self { cell, epoch, .. } = *self;
        let sequence = self.sequence + 1;
        Batch { cell, epoch, sequence, runs, schedules, tasks, messages, records }
    }

    pub(crate) fn try_commit(&mut self, rows: impl Into<Rows>) -> Result<(), Error> {
        self.store.commit(&[self.batch(rows)])?;
        self.sequence += 1;
        Ok(())
    }

    pub(crate) fn commit(&mut self, rows: impl Into<Rows>) {
        self.try_commit(rows).unwrap();
    }

    /// Commits rows that don't fit, and says why they don't.
    pub(crate) fn conflict(&mut self, rows: impl Into<Rows>) -> String {
        match self.try_commit(rows) {
            Err(Error::Conflict(problem)) => problem,
            other => panic!("expected a conflict, got {other:?}"),
        }
    }
}

/// What a batch holds beside who writes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) runs: Vec<RunWrite>,
    pub(crate) schedules: Vec<ScheduleWrite>,
    pub(crate) tasks: Vec<TaskWrite>,
    pub(crate) messages: Vec<MessageWrite>,
    pub(crate) records: Vec<RecordWrite>,
}

impl From<Vec<RunWrite>> for Rows {
    fn from(runs: Vec<RunWrite>) -> Self {
        Self { runs, ..Self::default() }
    }
}

impl From<RunWrite> for Rows {
    fn from(run: RunWrite) -> Self {
        vec![run].into()
    }
}

impl From<Vec<ScheduleWrite>> for Rows {
    fn from(schedules: Vec<ScheduleWrite>) -> Self {
        Self { schedules, ..Self::default() }
    }
}

impl From<ScheduleWrite> for Rows {
    fn from(schedule: ScheduleWrite) -> Self {
        vec![schedule].into()
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
pub(crate) fn change(key: i64) -> RunWrite {
    RunWrite {
        key: RunKey(key),
        created: None,
        deleted: false,
        becomes_current: false,
        head: None,
        parts: Vec::new(),
        history: Vec::new(),
        wake_at: None,
        visibility: None,
    }
}

/// A new run with the head `new` and events 1 and 2, not the current one.
pub(crate) fn new_run(key: i64, workflow_id: &str) -> RunWrite {
    RunWrite {
        created: Some(NewRun {
            namespace: NAMESPACE,
            workflow_id: workflow_id.to_owned(),
            run_id: run_id(key),
            slot: Slot::of(NAMESPACE, workflow_id),
            ancestors: Vec::new(),
            first_branch: RunKey(key),
        }),
        head: Some(b"new".to_vec()),
        history: vec![fragment(1, 2)],
        ..change(key)
    }
}

/// A new run that goes on after event 2 of others, the first of which holds its first event.
pub(crate) fn reset_run(key: i64, workflow_id: &str, ancestors: &[i64]) -> RunWrite {
    let mut write = new_run(key, workflow_id);
    write.history = vec![fragment(3, 4)];
    if let Some(created) = &mut write.created {
        created.ancestors = ancestors.iter().copied().map(RunKey).collect();
        created.first_branch = RunKey(ancestors[0]);
    }
    write
}

pub(crate) fn current(mut write: RunWrite) -> RunWrite {
    write.becomes_current = true;
    write
}

pub(crate) fn head(key: i64, head: &str) -> RunWrite {
    RunWrite { head: Some(head.into()), ..change(key) }
}

pub(crate) fn parts(key: i64, parts: Vec<PartWrite>) -> RunWrite {
    RunWrite { parts, ..change(key) }
}

pub(crate) fn events(key: i64, history: Vec<Fragment>) -> RunWrite {
    RunWrite { history, ..change(key) }
}

pub(crate) fn wake(mut write: RunWrite, at: i64) -> RunWrite {
    write.wake_at = Some(Time(at));
    write
}

pub(crate) fn delete(key: i64) -> RunWrite {
    RunWrite { deleted: true, ..change(key) }
}

/// A write of a schedule that changes nothing yet.
pub(crate) fn change_schedule(key: i64) -> ScheduleWrite {
    ScheduleWrite {
        key: ScheduleKey(key),
        created: None,
        deleted: false,
        head: None,
        parts: Vec::new(),
        log: Vec::new(),
        wake_at: None,
        visibility: None,
    }
}

/// A new schedule with the head `new`.
pub(crate) fn new_schedule(key: i64, schedule_id: &str) -> ScheduleWrite {
    ScheduleWrite {
        created: Some(NewSchedule {
            namespace: NAMESPACE,
            schedule_id: schedule_id.to_owned(),
            slot: Slot::of(NAMESPACE, schedule_id),
        }),
        head: Some(b"new".to_vec()),
        ..change_schedule(key)
    }
}

pub(crate) fn delete_schedule(key: i64) -> ScheduleWrite {
    ScheduleWrite { deleted: true, ..change_schedule(key) }
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

pub(crate) fn load(store: &dyn Store, workflow_id: &str) -> Option<StoredRun> {
    store.load_run(NAMESPACE, workflow_id, None).unwrap()
}

pub(crate) fn load_by_id(store: &dyn Store, workflow_id: &str, key: i64) -> Option<StoredRun> {
    store.load_run(NAMESPACE, workflow_id, Some(&run_id(key))).unwrap()
}

pub(crate) fn load_schedule(store: &dyn Store, schedule_id: &str) -> Option<StoredSchedule> {
    store.load_schedule(NAMESPACE, schedule_id).unwrap()
}
