//! A store in one SQLite file.
//!
//! A commit is durable when it stands in a file beside the database ([`redo`]); a thread brings it into the
//! tables, with many others ([`tables`]). One connection writes ([`write`]), a few read ([`readers`]), one moves
//! SQLite's own log into the database ([`checkpoint`]). The file is ours alone ([`ownership`]), and when the disk is
//! full what was put aside helps ([`room`]).

mod cells;
mod checkpoint;
mod connection;
mod error;
mod merge;
mod migrate;
mod ownership;
#[cfg(test)]
mod plans;
mod read;
mod readers;
mod redo;
mod reserve;
mod room;
mod sidecar;
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
    Batch, CellId, Error, Fragment, HistoryRange, Lease, Log, LogLine, RecordKind, RecordWrite,
    Store, StoredCell, StoredEntity, StoredMessage, TaskRow, Wake, check,
};

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The machine losing power: every commit waits for the disk.
    #[default]
    PowerLoss,
    /// This process dying: a commit waits for the operating system only. The file stays sound when the
    /// power goes, but the last commits may be missing.
    ProcessCrash,
}

/// What is done about a redo file that is damaged or missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDamage {
    /// The database isn't opened: what the file held was acknowledged.
    #[default]
    Refuse,
    /// What comes before the damage is kept, the file is put aside, and the rest is lost.
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
    /// What a commit survives.
    pub durability: Durability,
    /// What is done about damage.
    pub on_damage: OnDamage,
    /// Where the files are: the operating system's, unless it is a test.
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
/// Commits are done by the calling thread, one at a time; reads go on meanwhile. While it is open files stand
/// beside it that belong to it: SQLite's own log (`-wal`) and the batches that aren't in the tables yet
/// (`-redo`), without which a copy is of no use, and some disk space for bad times (`-reserve`).
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
    // In this order they are dropped: the connections, then what proves that the file is ours.
    place: Place,
    ownership: Option<Ownership>,
}

/// Where the data is, and what comes with it.
#[derive(Debug)]
enum Place {
    File {
        path: PathBuf,
        readers: Readers,
        tables: Tables,
    },
    /// The writer reads too: another connection would see another database.
    Memory(Mutex<Connection>),
}

impl SqliteStore {
    /// Opens the file, or makes it. Refuses one that another process has open, one of another program, and
    /// one that a newer version wrote.
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

    /// Reads when everything that was committed is in the tables.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        match &self.place {
            Place::File { path, readers, tables } => tables
                .bring_up_to_date()
                .and_then(|()| readers.read(read))
                .map_err(|error| about_file(error, path)),
            Place::Memory(writer) => read(&lock(writer)),
        }
    }

    /// Reads what only a few batches change, and waits for those alone. `is_touched` looks for them, before
    /// it is read and with what was found. What can't be read, as `is_damaged` says, may be gone or whole again
    /// by any batch: it is read once more when all of them are in the tables.
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
        check::covers_all(ranges)?;
        match &self.place {
            Place::File { path, tables, .. } => {
                tables.divide(ranges).map_err(|error| about_file(error, path))
            }
            Place::Memory(writer) => {
                tables::write(&lock(writer), |connection| cells::divide(connection, ranges))
            }
        }
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

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        batches.iter().try_for_each(check::check)?;
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
    // A panic in between has dropped its transaction, which undid it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file under its one true name, so that a link to it is locked as the same file.
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
