//! A store in memory: the model that other backends are compared with, and the disk of simulations.

mod apply;
mod cluster;
mod disk;
mod list;
mod read;
mod table;

pub use disk::Disk;

use std::sync::{Mutex, MutexGuard, PoisonError};

use perennial_engine::{EntityKey, EntityRef, NamespaceKey, SlotRange, Time};

use crate::visibility::{Count, Page, Position, Query};
use crate::{
    Batch, CellId, ClusterStore, DiskUsage, Error, FileSize, Fragment, HistoryRange, Lease, Log,
    LogLine, RecordKind, RecordWrite, Store, StoredCell, StoredEntity, StoredMessage, TaskRow,
    Wake, check,
};

/// A deterministic store in memory.
///
/// It holds committed state only: to model a crash, keep the store (or its [`Disk`]) and drop
/// everything else.
///
/// ```
/// use perennial_store::{CellId, MemoryStore, Store};
///
/// let store = MemoryStore::new();
/// let epoch = store.lease(CellId::FIRST, "node a")?.epoch;
/// let after_a_crash = MemoryStore::with_disk(store.disk());
/// assert!(after_a_crash.lease(CellId::FIRST, "node b")?.epoch > epoch);
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

    /// Sets the clock by which the leases of nodes end. It begins at zero, and moves only when it is set.
    pub fn set_time(&self, now: Time) {
        self.lock().now = now;
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        // A panic leaves changes that aren't kept: the next commit undoes them.
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn cells(&self) -> Result<Vec<StoredCell>, Error> {
        Ok(self.lock().cells.values().cloned().collect())
    }

    fn lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        self.lock().lease(cell, owner)
    }

    fn divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        check::check_coverage(ranges)?;
        self.lock().divide(ranges);
        Ok(())
    }

    fn cluster(&self) -> Option<&dyn ClusterStore> {
        Some(self)
    }

    fn compare_and_set(
        &self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> Result<bool, Error> {
        check::check_record(record)?;
        Ok(self.lock().compare_and_set(record, expected))
    }

    fn health(&self) -> Result<(), Error> {
        Ok(())
    }

    fn file_sizes(&self) -> Vec<FileSize> {
        Vec::new()
    }

    fn place(&self) -> Option<String> {
        None
    }

    fn disk_usage(&self) -> Option<DiskUsage> {
        None
    }

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        batches.iter().try_for_each(check::check_batch)?;
        let mut disk = self.lock();
        disk.undo();
        let applied = batches.iter().try_for_each(|batch| disk.apply(batch));
        match &applied {
            Ok(()) => disk.keep(),
            Err(_) => disk.undo(),
        }
        applied
    }

    fn load(&self, wanted: &[EntityRef]) -> Vec<Result<Option<StoredEntity>, Error>> {
        let disk = self.lock();
        wanted.iter().map(|wanted| disk.load(wanted)).collect()
    }

    fn load_by_keys(&self, keys: &[EntityKey]) -> Result<Vec<StoredEntity>, Error> {
        let disk = self.lock();
        keys.iter().filter_map(|key| disk.load_by_key(*key).transpose()).collect()
    }

    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error> {
        Ok(self.lock().history(range, max_bytes, reverse))
    }

    fn log(
        &self,
        key: EntityKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error> {
        Ok(self.lock().log(key, log, positions, limit, reverse))
    }

    fn wakes(
        &self,
        slots: SlotRange,
        after: (Time, EntityKey),
        up_to: Time,
        limit: usize,
    ) -> Result<Vec<Wake>, Error> {
        Ok(self.lock().wakes(slots, after, up_to, limit))
    }

    fn tasks(&self, slots: SlotRange, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error> {
        Ok(self.lock().tasks(slots, after, limit))
    }

    fn messages(
        &self,
        slots: SlotRange,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, Error> {
        Ok(self.lock().messages(slots, after, limit))
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
