//! A store in one SQLite file.
//!
//! A commit is durable when it is in the redo file ([`redo`]). A thread applies many commits to the tables in one
//! transaction ([`tables`]). One connection writes ([`write`]), a few read ([`readers`]), and one checkpoints SQLite's
//! write-ahead log ([`checkpoint`]). No other process may open the file ([`ownership`]). When the disk is full, reserved
//! space keeps reads working ([`disk_space`]).

mod cells;
mod checkpoint;
mod connection;
mod disk_space;
mod error;
mod migrate;
mod ownership;
#[cfg(test)]
mod plans;
mod read;
mod readers;
mod redo;
mod reserve_file;
mod sidecar_files;
mod tables;
mod transaction;
mod write;
mod write_entity;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_engine::{EntityKey, EntityRef, NamespaceKey, SlotRange, Time};
use rusqlite::Connection;

use self::error::about_file;
use self::ownership::Ownership;
use self::readers::Readers;
use self::redo::Redo;
use self::tables::Tables;
use self::transaction::Transaction;
use crate::file_system::{FileSystem, SystemFiles};
use crate::visibility::{Count, Page, Position, Query};
use crate::{
    Batch, CellId, ClusterStore, DiskUsage, Error, FileSize, Fragment, HistoryRange, Lease, Log,
    LogLine, RecordKind, RecordWrite, Store, StoredCell, StoredEntity, StoredMessage, TaskRow,
    Wake, check,
};

/// The failures that a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Power loss: every commit waits for the disk.
    #[default]
    PowerLoss,
    /// The end of this process: a commit waits for the operating system only. After a power loss the file is intact, but
    /// the last commits may be missing.
    ProcessCrash,
}

/// What happens if the redo file is damaged or missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDamage {
    /// The database isn't opened: the batches in the file were acknowledged.
    #[default]
    Refuse,
    /// The batches before the damage are applied, the file is kept under another name, and the rest is lost.
    Discard,
}

/// How a file is opened.
///
/// ```
/// use perennial_store::{Durability, SqliteOptions};
///
/// let options = SqliteOptions { durability: Durability::ProcessCrash, ..SqliteOptions::default() };
/// ```
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The failures that a commit survives.
    pub durability: Durability,
    /// What happens if the redo file is damaged.
    pub on_damage: OnDamage,
    /// The file system: the operating system's, except in tests.
    pub files: Arc<dyn FileSystem>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            on_damage: OnDamage::default(),
            files: Arc::new(SystemFiles),
        }
    }
}

impl From<Durability> for SqliteOptions {
    fn from(durability: Durability) -> Self {
        Self { durability, ..Self::default() }
    }
}

/// A store in one SQLite file, owned by this process as long as it is open.
///
/// The calling thread commits, one at a time; reads go on meanwhile. While the store is open, three files belong to
/// the database: SQLite's write-ahead log (`-wal`) and the batches that aren't in the tables yet (`-redo`), without
/// which a copy is incomplete, and reserved disk space (`-reserve`).
///
/// ```
/// use perennial_store::{CellId, SqliteStore, Store};
///
/// let store = SqliteStore::in_memory()?;
/// let epoch = store.lease(CellId::FIRST, "node a")?.epoch;
/// assert!(store.lease(CellId::FIRST, "node b")?.epoch > epoch);
/// # Ok::<(), perennial_store::Error>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    // Drop order: the connections before the ownership.
    place: Place,
    ownership: Option<Ownership>,
}

/// The place of the data, and its connections.
#[derive(Debug)]
enum Place {
    File {
        path: PathBuf,
        readers: Readers,
        tables: Tables,
    },
    /// One connection writes and reads: a second one would have a database of its own.
    Memory(Mutex<Connection>),
}

impl SqliteStore {
    /// Opens the file, or creates it. Refuses a file that another process has open, a database of another program, and
    /// one of a newer version.
    pub fn open(path: impl AsRef<Path>, options: impl Into<SqliteOptions>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::open_file(path, options.into()).map_err(|error| about_file(error, path))
    }

    /// An empty database of its own, gone with the store.
    pub fn in_memory() -> Result<Self, Error> {
        let mut writer = connection::in_memory()?;
        migrate::migrate(&mut writer)?;
        Ok(Self { place: Place::Memory(Mutex::new(writer)), ownership: None })
    }

    fn open_file(path: &Path, options: SqliteOptions) -> Result<Self, Error> {
        let path = real_path(path)?;
        let mut ownership = Ownership::claim(&options.files, &path)?;
        let tables = Tables::open(&path, &options)?;
        ownership.watch()?;
        let place = Place::File { readers: Readers::of(path.clone(), options), path, tables };
        Ok(Self { place, ownership: Some(ownership) })
    }

    /// Applies all committed batches to the tables, then reads.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        match &self.place {
            Place::File { path, readers, tables } => tables
                .bring_up_to_date()
                .and_then(|()| readers.read(read))
                .map_err(|error| about_file(error, path)),
            Place::Memory(writer) => read(&lock(writer)),
        }
    }

    /// Reads, and applies committed batches first only if they may change the result, as `is_touched` tells before the
    /// read and with its result. Damaged data, as `is_damaged` tells, may have been deleted or replaced by any batch: it
    /// is read once more after all batches were applied.
    fn read_touched<T>(
        &self,
        read: impl Fn(&Connection) -> Result<T, Error>,
        is_touched: impl Fn(&Redo, Option<&T>) -> bool,
        is_damaged: impl Fn(&Result<T, Error>) -> bool,
    ) -> Result<T, Error> {
        match &self.place {
            Place::File { path, readers, tables } => {
                let found = tables.read(|| readers.read(&read), is_touched);
                if is_damaged(&found) {
                    return self.read(read);
                }
                found.map_err(|error| about_file(error, path))
            }
            Place::Memory(writer) => read(&lock(writer)),
        }
    }
}

impl Store for SqliteStore {
    fn cells(&self) -> Result<Vec<StoredCell>, Error> {
        self.read(cells::read_all)
    }

    fn lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        match &self.place {
            Place::File { path, tables, .. } => {
                tables.lease(cell, owner).map_err(|error| about_file(error, path))
            }
            Place::Memory(writer) => tables::write(&lock(writer), |connection| {
                cells::take_lease(connection, cell, owner)
            }),
        }
    }

    fn divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        check::check_coverage(ranges)?;
        match &self.place {
            Place::File { path, tables, .. } => {
                tables.divide(ranges).map_err(|error| about_file(error, path))
            }
            Place::Memory(writer) => {
                tables::write(&lock(writer), |connection| cells::divide(connection, ranges))
            }
        }
    }

    fn cluster(&self) -> Option<&dyn ClusterStore> {
        // The lock on the file proves who its owner is, so nobody has to wait for a lease to end.
        None
    }

    fn compare_and_set(
        &self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> Result<bool, Error> {
        check::check_record(record)?;
        match &self.place {
            Place::File { path, tables, .. } => {
                tables.compare_and_set(record, expected).map_err(|error| about_file(error, path))
            }
            Place::Memory(writer) => tables::write(&lock(writer), |connection| {
                write::compare_and_set(connection, record, expected)
            }),
        }
    }

    fn health(&self) -> Result<(), Error> {
        if let Some(ownership) = &self.ownership {
            ownership.check()?;
        }
        match &self.place {
            Place::File { path, tables, .. } => {
                tables.health().map_err(|error| about_file(error, path))
            }
            Place::Memory(_) => Ok(()),
        }
    }

    fn file_sizes(&self) -> Vec<FileSize> {
        match &self.place {
            Place::File { path, .. } => sidecar_files::sizes(path),
            Place::Memory(_) => Vec::new(),
        }
    }

    fn place(&self) -> Option<String> {
        match &self.place {
            Place::File { path, .. } => Some(path.display().to_string()),
            Place::Memory(_) => None,
        }
    }

    fn disk_usage(&self) -> Option<DiskUsage> {
        match &self.place {
            Place::File { path, .. } => sidecar_files::disk_usage(path),
            Place::Memory(_) => None,
        }
    }

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        batches.iter().try_for_each(check::check_batch)?;
        match &self.place {
            Place::File { path, tables, .. } => {
                tables.commit(batches).map_err(|error| about_file(error, path))
            }
            Place::Memory(writer) => tables::write(&lock(writer), |connection| {
                batches.iter().try_for_each(|batch| write::write_batch(connection, batch))
            }),
        }
    }

    fn load(&self, wanted: &[EntityRef]) -> Vec<Result<Option<StoredEntity>, Error>> {
        let load_all = |connection: &Connection| {
            let _one_state = Transaction::of_reader(connection)?;
            Ok(wanted.iter().map(|wanted| read::load(connection, wanted)).collect::<Vec<_>>())
        };
        let is_touched = |redo: &Redo, found: Option<&Vec<Result<Option<StoredEntity>, Error>>>| {
            wanted.iter().any(|wanted| redo.touches_id(&wanted.id))
                || found
                    .into_iter()
                    .flatten()
                    .flatten()
                    .flatten()
                    .any(|entity| redo.touches(entity.key))
        };
        let is_damaged = |found: &Result<Vec<_>, Error>| match found {
            Ok(found) => found.iter().any(is_corrupt),
            Err(_) => is_corrupt(found),
        };
        self.read_touched(load_all, is_touched, is_damaged)
            .unwrap_or_else(|error| vec![Err(error); wanted.len()])
    }

    fn load_by_keys(&self, keys: &[EntityKey]) -> Result<Vec<StoredEntity>, Error> {
        self.read(|connection| {
            let _one_state = Transaction::of_reader(connection)?;
            let found = keys.iter().map(|key| read::load_by_key(connection, *key));
            found.filter_map(Result::transpose).collect()
        })
    }

    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error> {
        self.read_touched(
            |connection| read::history(connection, range, max_bytes, reverse),
            |redo, _| redo.touches_branch(range.branch),
            is_corrupt,
        )
    }

    fn log(
        &self,
        key: EntityKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error> {
        self.read(|connection| read::log(connection, key, log, positions, limit, reverse))
    }

    fn wakes(
        &self,
        slots: SlotRange,
        after: (Time, EntityKey),
        up_to: Time,
        limit: usize,
    ) -> Result<Vec<Wake>, Error> {
        self.read(|connection| read::wakes(connection, slots, after, up_to, limit))
    }

    fn tasks(&self, slots: SlotRange, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error> {
        self.read(|connection| read::tasks(connection, slots, after, limit))
    }

    fn messages(
        &self,
        slots: SlotRange,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, Error> {
        self.read(|connection| read::messages(connection, slots, after, limit))
    }

    fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        self.read(|connection| read::records(connection, kind, prefix, after, limit))
    }

    fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Result<Page, Error> {
        self.read(|connection| read::list(connection, namespace, query, page_size, after))
    }

    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error> {
        self.read(|connection| read::count(connection, namespace, query))
    }
}

fn is_corrupt<T>(found: &Result<T, Error>) -> bool {
    matches!(found, Err(Error::Corrupt(_)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic has dropped its transaction, which rolled it back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The canonical path of the file, so that a link to it is locked as the same file.
fn real_path(path: &Path) -> Result<PathBuf, Error> {
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    let name = path.file_name().ok_or_else(|| Error::Unavailable("it has no file name".into()))?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let folder = folder.canonicalize().map_err(|error| {
        let folder = folder.display();
        Error::Unavailable(format!("the folder {folder} can't be used: {error}; make it first"))
    })?;
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::{Place, lock};
    use crate::{Batch, CellId, Error, RecordKind, RecordWrite, SqliteStore, Store};

    #[test]
    fn full_store_refuses_writes_serves_reads_and_goes_on_when_there_is_room() {
        let store = SqliteStore::in_memory().unwrap();
        let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
        let commit = |sequence, key: &str, bytes| {
            let value = Some(vec![1; bytes]);
            let record = RecordWrite { kind: RecordKind::Cluster, key: key.to_owned(), value };
            let batch = Batch::empty(CellId::FIRST, epoch, sequence);
            store.commit(&[Batch { records: vec![record], ..batch }])
        };
        let keys = || -> Vec<String> {
            let records = store.records(RecordKind::Cluster, "", "", 10).unwrap();
            records.into_iter().map(|(key, _)| key).collect()
        };
        let pages = |most: i64| {
            let Place::Memory(writer) = &store.place else { panic!("it is in memory") };
            lock(writer).pragma_update(None, "max_page_count", most).unwrap();
        };
        commit(1, "small", 10).unwrap();
        pages(1);
        let refused = commit(2, "large", 1_000_000);
        assert!(matches!(refused, Err(Error::Full(_))), "{refused:?}");
        assert_eq!(keys(), ["small"]);
        pages(1_000_000);
        commit(2, "large", 1_000_000).unwrap();
        assert_eq!(keys(), ["large", "small"]);
    }
}
