//! A store that lets a test act in the middle of a reading.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use perennial_engine::{NamespaceKey, ScheduleKey, Time};
use perennial_store::visibility::{Count, Page, Position, Query};
use perennial_store::{
    Batch, Error, Fragment, HistoryRange, Lease, Log, LogLine, MemoryStore, RecordKind, Store,
    StoredMessage, StoredRun, StoredSchedule, TaskRow, Wake,
};
use tokio::sync::oneshot;

/// Holds up one reading of a history before it begins.
#[derive(Default)]
pub(crate) struct HeldStore {
    inner: MemoryStore,
    held: Mutex<Option<(oneshot::Sender<()>, Receiver<()>)>>,
}

/// A reading that will be held up.
pub(crate) struct Holding {
    entered: oneshot::Receiver<()>,
    release: Sender<()>,
}

/// A reading that is held up.
pub(crate) struct Held(Sender<()>);

impl HeldStore {
    pub(crate) fn hold_history(&self) -> Holding {
        let (enter, entered) = oneshot::channel();
        let (release, released) = channel();
        *self.held.lock().unwrap() = Some((enter, released));
        Holding { entered, release }
    }
}

impl Holding {
    pub(crate) async fn entered(self) -> Held {
        self.entered.await.unwrap();
        Held(self.release)
    }
}

impl Held {
    pub(crate) fn release(self) {
        self.0.send(()).unwrap();
    }
}

impl Store for HeldStore {
    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error> {
        let held = self.held.lock().unwrap().take();
        if let Some((enter, released)) = held {
            enter.send(()).unwrap();
            released.recv().unwrap();
        }
        self.inner.history(range, max_bytes, reverse)
    }

    fn lease(&self, cell: u32) -> Result<Lease, Error> {
        self.inner.lease(cell)
    }

    fn health(&self) -> Result<(), Error> {
        self.inner.health()
    }

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        self.inner.commit(batches)
    }

    fn load_run(
        &self,
        namespace: NamespaceKey,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Option<StoredRun>, Error> {
        self.inner.load_run(namespace, workflow_id, run_id)
    }

    fn load_schedule(
        &self,
        namespace: NamespaceKey,
        schedule_id: &str,
    ) -> Result<Option<StoredSchedule>, Error> {
        self.inner.load_schedule(namespace, schedule_id)
    }

    fn load_schedules(&self, keys: &[ScheduleKey]) -> Result<Vec<StoredSchedule>, Error> {
        self.inner.load_schedules(keys)
    }

    fn schedule_log(
        &self,
        key: ScheduleKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error> {
        self.inner.schedule_log(key, log, positions, limit, reverse)
    }

    fn wakes(&self, after: (Time, i64), up_to: Time, limit: usize) -> Result<Vec<Wake>, Error> {
        self.inner.wakes(after, up_to, limit)
    }

    fn tasks(&self, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error> {
        self.inner.tasks(after, limit)
    }

    fn messages(&self, after: i64, limit: usize) -> Result<Vec<StoredMessage>, Error> {
        self.inner.messages(after, limit)
    }

    fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        self.inner.records(kind, prefix, after, limit)
    }

    fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Result<Page, Error> {
        self.inner.list(namespace, query, page_size, after)
    }

    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error> {
        self.inner.count(namespace, query)
    }
}
