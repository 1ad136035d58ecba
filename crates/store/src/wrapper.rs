//! Stores around another store, for tests and simulations.

use perennial_engine::{EntityKey, EntityRef, NamespaceKey, SlotRange, Time};

use crate::visibility::{Count, Page, Position, Query};
use crate::{
    Batch, CellId, ClusterStore, DiskUsage, Error, FileSize, Fragment, HistoryRange, Lease, Log,
    LogLine, RecordKind, RecordWrite, Store, StoredCell, StoredEntity, StoredMessage, TaskRow,
    Wake,
};

/// A store that does what another one does, but for the methods it overrides. For tests and simulations: it makes
/// commits fail, or stops a read in the middle.
///
/// A type that implements it is a [`Store`].
///
/// ```
/// use perennial_store::{Batch, Error, MemoryStore, Store, StoreWrapper};
///
/// /// A store whose disk is full.
/// struct FullStore(MemoryStore);
///
/// impl StoreWrapper for FullStore {
///     fn inner(&self) -> &dyn Store {
///         &self.0
///     }
///
///     fn on_commit(&self, _: &[Batch]) -> Result<(), Error> {
///         Err(Error::Full("no room".to_owned()))
///     }
/// }
///
/// let store = FullStore(MemoryStore::new());
/// assert!(matches!(store.commit(&[]), Err(Error::Full(_))));
/// assert_eq!(store.cells()?.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait StoreWrapper: Send + Sync + 'static {
    /// The store that does the work.
    fn inner(&self) -> &dyn Store;

    /// Does [`Store::lease`].
    fn on_lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        self.inner().lease(cell, owner)
    }

    /// Does [`Store::divide`].
    fn on_divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        self.inner().divide(ranges)
    }

    /// Does [`Store::cluster`]. A wrapper that is a [`ClusterStore`] too returns itself.
    fn on_cluster(&self) -> Option<&dyn ClusterStore> {
        self.inner().cluster()
    }

    /// Does [`Store::compare_and_set`].
    fn on_compare_and_set(
        &self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> Result<bool, Error> {
        self.inner().compare_and_set(record, expected)
    }

    /// Does [`Store::health`].
    fn on_health(&self) -> Result<(), Error> {
        self.inner().health()
    }

    /// Does [`Store::commit`].
    fn on_commit(&self, batches: &[Batch]) -> Result<(), Error> {
        self.inner().commit(batches)
    }

    /// Called before every read. The read fails with the error that this returns.
    fn before_read(&self, _: Read) -> Result<(), Error> {
        Ok(())
    }

    /// Called with every entity that was loaded, to change it.
    fn on_loaded(&self, _: &mut StoredEntity) {}
}

/// A method of [`Store`] that reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// [`Store::cells`].
    Cells,
    /// [`Store::load`].
    Load,
    /// [`Store::load_by_keys`].
    LoadByKeys,
    /// [`Store::history`].
    History,
    /// [`Store::log`].
    Log,
    /// [`Store::wakes`].
    Wakes,
    /// [`Store::tasks`].
    Tasks,
    /// [`Store::messages`].
    Messages,
    /// [`Store::records`].
    Records,
    /// [`Store::list`].
    List,
    /// [`Store::count`].
    Count,
}

/// The inner store, once the wrapper lets the read happen.
fn readable<W: StoreWrapper>(wrapper: &W, read: Read) -> Result<&dyn Store, Error> {
    wrapper.before_read(read)?;
    Ok(wrapper.inner())
}

impl<W: StoreWrapper> Store for W {
    fn cells(&self) -> Result<Vec<StoredCell>, Error> {
        readable(self, Read::Cells)?.cells()
    }

    fn lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        self.on_lease(cell, owner)
    }

    fn divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        self.on_divide(ranges)
    }

    fn cluster(&self) -> Option<&dyn ClusterStore> {
        self.on_cluster()
    }

    fn compare_and_set(
        &self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> Result<bool, Error> {
        self.on_compare_and_set(record, expected)
    }

    fn health(&self) -> Result<(), Error> {
        self.on_health()
    }

    fn file_sizes(&self) -> Vec<FileSize> {
        self.inner().file_sizes()
    }

    fn place(&self) -> Option<String> {
        self.inner().place()
    }

    fn disk_usage(&self) -> Option<DiskUsage> {
        self.inner().disk_usage()
    }

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        self.on_commit(batches)
    }

    fn load(&self, wanted: &[EntityRef]) -> Vec<Result<Option<StoredEntity>, Error>> {
        let mut found = match readable(self, Read::Load) {
            Ok(inner) => inner.load(wanted),
            Err(error) => vec![Err(error); wanted.len()],
        };
        found.iter_mut().flatten().flatten().for_each(|entity| self.on_loaded(entity));
        found
    }

    fn load_by_keys(&self, keys: &[EntityKey]) -> Result<Vec<StoredEntity>, Error> {
        let mut found = readable(self, Read::LoadByKeys)?.load_by_keys(keys)?;
        found.iter_mut().for_each(|entity| self.on_loaded(entity));
        Ok(found)
    }

    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error> {
        readable(self, Read::History)?.history(range, max_bytes, reverse)
    }

    fn log(
        &self,
        key: EntityKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error> {
        readable(self, Read::Log)?.log(key, log, positions, limit, reverse)
    }

    fn wakes(
        &self,
        slots: SlotRange,
        after: (Time, EntityKey),
        up_to: Time,
        limit: usize,
    ) -> Result<Vec<Wake>, Error> {
        readable(self, Read::Wakes)?.wakes(slots, after, up_to, limit)
    }

    fn tasks(&self, slots: SlotRange, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error> {
        readable(self, Read::Tasks)?.tasks(slots, after, limit)
    }

    fn messages(
        &self,
        slots: SlotRange,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, Error> {
        readable(self, Read::Messages)?.messages(slots, after, limit)
    }

    fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        readable(self, Read::Records)?.records(kind, prefix, after, limit)
    }

    fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Result<Page, Error> {
        readable(self, Read::List)?.list(namespace, query, page_size, after)
    }

    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error> {
        readable(self, Read::Count)?.count(namespace, query)
    }
}
