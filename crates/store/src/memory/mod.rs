//! A store in maps: what the others are compared with, and the disk of a simulated world.

mod apply;
mod apply_schedule;
mod disk;
mod list;
mod read;
mod read_schedule;
mod table;

pub use disk::Disk;

use std::sync::{Mutex, MutexGuard, PoisonError};

use perennial_engine::{NamespaceKey, ScheduleKey, Time};

use crate::visibility::{Count, Page, Position, Query};
use crate::{
    Batch, Error, Fragment, HistoryRange, Lease, Log, LogLine, RecordKind, Store, StoredMessage,
    StoredRun, StoredSchedule, TaskRow, Wake, check,
};

/// A store that keeps everything in memory, and does the same with the same batches every time.
///
/// What it holds is always committed state: to model a crash, keep the store (or its [`Disk`]) and drop
/// everything else.
///
/// ```
/// use perennial_store::{MemoryStore, Store};
///
/// let store = MemoryStore::new();
/// let epoch = store.lease(0)?.epoch;
/// let after_a_crash = MemoryStore::with_disk(store.disk());
/// assert!(after_a_crash.lease(0)?.epoch > epoch);
/// # Ok::<(), perennial_store::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    disk: Mutex<Disk>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A store that holds what was on `disk`.
    pub fn with_disk(disk: Disk) -> Self {
        Self { disk: Mutex::new(disk) }
    }

    /// A copy of all that is committed.
    pub fn disk(&self) -> Disk {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        // A panic in between leaves changes that aren't kept: the next commit takes them back.
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn lease(&self, cell: u32) -> Result<Lease, Error> {
        Ok(self.lock().lease(cell))
    }

    fn health(&self) -> Result<(), Error> {
        Ok(())
    }

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        batches.iter().try_for_each(check::check)?;
        let mut disk = self.lock();
        disk.undo();
        let applied = batches.iter().try_for_each(|batch| disk.apply(batch));
        match &applied {
            Ok(()) => disk.keep(),
            Err(_) => disk.undo(),
        }
        applied
    }

    fn load_run(
        &self,
        namespace: NamespaceKey,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Option<StoredRun>, Error> {
        self.lock().load_run(namespace, workflow_id, run_id)
    }

    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error> {
        Ok(self.lock().history(range, max_bytes, reverse))
    }

    fn load_schedule(
        &self,
        namespace: NamespaceKey,
        schedule_id: &str,
    ) -> Result<Option<StoredSchedule>, Error> {
        Ok(self.lock().load_latest_schedule(namespace, schedule_id))
    }

    fn load_schedules(&self, keys: &[ScheduleKey]) -> Result<Vec<StoredSchedule>, Error> {
        let disk = self.lock();
        Ok(keys.iter().filter_map(|key| disk.load_schedule_by_key(*key)).collect())
    }

    fn schedule_log(
        &self,
        key: ScheduleKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error> {
        Ok(self.lock().schedule_log(key, log, positions, limit, reverse))
    }

    fn wakes(&self, after: (Time, i64), up_to: Time, limit: usize) -> Result<Vec<Wake>, Error> {
        Ok(self.lock().wakes(after, up_to, limit))
    }

    fn tasks(&self, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error> {
        Ok(self.lock().tasks(after, limit))
    }

    fn messages(&self, after: i64, limit: usize) -> Result<Vec<StoredMessage>, Error> {
        Ok(self.lock().messages(after, limit))
    }

    fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        Ok(self.lock().records(kind, prefix, after, limit))
    }

    fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Result<Page, Error> {
        Ok(self.lock().list(namespace, query, page_size, after))
    }

    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error> {
        Ok(self.lock().count(namespace, query))
    }
}
