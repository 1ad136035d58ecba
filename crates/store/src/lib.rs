//! Durable storage.
//!
//! A [`Store`] commits [`Batch`]es atomically and durably, and reads rows. It doesn't know what the rows mean: state and
//! history are bytes to it. It must never answer `Ok` to a commit that a crash could undo, nor accept a batch of an
//! owner that has been replaced.
//!
//! A store that several nodes share is a [`ClusterStore`] too: it says which nodes there are, and lets a node take a cell only
//! if no other one may own it.
//!
//! Start with [`Store`]. [`MemoryStore`] is the simplest implementation; [`SqliteStore`] stores in a file,
//! [`PostgresStore`] in a database that several nodes share. Tests wrap one of them with [`StoreWrapper`].

mod batch;
mod check;
mod cluster;
pub mod file_system;
mod memory;
mod merge;
mod numbers;
mod postgres;
mod sqlite;
pub mod visibility;
mod wrapper;

pub use batch::{
    Batch, CellId, EntityWrite, Fragment, Listed, Log, LogLine, MessageWrite, NewEntity, NewRun,
    RecordKind, RecordWrite, TaskRow, TaskWrite,
};
pub use cluster::{CUT_OFF_AFTER, ClusterStore, ClusterView, NodeRegistration, StoredNode};
pub use memory::{Disk, MemoryStore};
pub use postgres::{PostgresOptions, PostgresStore, SchemaVersion};
pub use sqlite::{Durability, OnDamage, SqliteOptions, SqliteStore};
pub use wrapper::{Read, StoreWrapper};

use visibility::{Count, Page, Position, Query};

use perennial_engine::{EntityKey, EntityRef, Kind, NamespaceKey, PartId, Slot, SlotRange, Time};

/// A number that grows with every lease. Of two owners of a cell the one with the greater epoch may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i64);

/// A cell as it is stored: a range of slots, and who may write what belongs to them.
///
/// Nothing else in a store names a cell, so dividing the slots anew moves no data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCell {
    /// Its slots.
    pub slots: SlotRange,
    /// The node that took the last lease; empty if it gave the cell up, or if none has taken one since the slots were divided.
    pub owner: String,
    /// The epoch of that lease.
    pub epoch: Epoch,
    /// The number of its last durable batch under that lease; 0 if there is none.
    pub sequence: u64,
}

/// The right to write a cell's entities, until another owner takes the next lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The slots of the cell.
    pub slots: SlotRange,
    /// Greater than every epoch before it, of any cell. Keys made under it begin with it, so two owners never make
    /// the same key.
    pub epoch: Epoch,
    /// The last durable batch of the cell. An owner that took a new lease after a failed commit learns from it
    /// whether that commit happened.
    pub last_batch: BatchId,
}

/// A batch of a cell, by its epoch and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchId {
    /// The epoch of the lease it was written under.
    pub epoch: Epoch,
    /// Its number under that lease; 0 stands for none.
    pub sequence: u64,
}

/// Why a store failed, named by what the caller does next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// This process may not or can't write any more: stop. Another process has taken over, the file was removed, or a
    /// thread of the store died.
    #[error("{0}")]
    Fenced(String),
    /// The batch contradicts itself or the stored rows, and nothing of it was written: drop uncommitted state, take a
    /// new lease, load again.
    #[error("the batch conflicts with the stored rows: {0}")]
    Conflict(String),
    /// The commit may or may not have happened. Take a new lease, which tells, then go on.
    #[error("the store didn't answer: {0}")]
    Unavailable(String),
    /// The disk is full: refuse writes, serve reads.
    #[error("the store is full: {0}")]
    Full(String),
    /// The stored data is damaged.
    #[error("the stored data is damaged: {0}")]
    Corrupt(String),
}

/// An entity as it was committed.
#[derive(Debug, Clone)]
pub struct StoredEntity {
    /// Its kind.
    pub kind: Kind,
    /// Its key.
    pub key: EntityKey,
    /// The encoded head.
    pub head: Vec<u8>,
    /// All its parts, encoded, in the order of their ids.
    pub parts: Vec<(PartId, Vec<u8>)>,
    /// For a run, the fragment of history that holds its first event: from the run's own branch, or from the first
    /// of its ancestors'.
    pub first_fragment: Option<Fragment>,
    /// Whether it is the current entity of its id.
    pub is_current: bool,
}

/// An entity whose stored wake-up time has come, or soon will.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wake {
    /// The wake-up time.
    pub at: Time,
    /// The key of the entity.
    pub key: EntityKey,
    /// The entity to wake.
    pub entity: EntityRef,
}

/// A committed message whose answer the sender hasn't taken yet.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    /// Ascending within a sender.
    pub key: i64,
    /// The slot of the sender.
    pub slot: Slot,
    /// Encoded.
    pub value: Vec<u8>,
}

/// A part of a history to read: events `first..=last` of one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRange {
    /// The run in whose branch they are.
    pub branch: EntityKey,
    /// First event wanted.
    pub first_event_id: i64,
    /// Last event wanted.
    pub last_event_id: i64,
}

/// The disk of a store's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUsage {
    /// Its size in bytes.
    pub total_bytes: u64,
    /// What is free for this process.
    pub free_bytes: u64,
}

/// The size of a file in which data is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSize {
    /// The file's role, such as `database`.
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The interface of every backend. Methods block: call them on threads of their own.
pub trait Store: Send + Sync + 'static {
    /// All cells, in the order of their slots. Together they have every slot once.
    fn cells(&self) -> Result<Vec<StoredCell>, Error>;

    /// Makes `owner` the owner of a cell, whoever owned it: from now on batches of earlier epochs are refused.
    fn lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error>;

    /// Divides the slots into other cells, which nobody owns yet. Owners of the cells before are fenced.
    fn divide(&self, ranges: &[SlotRange]) -> Result<(), Error>;

    /// The nodes that share this store. `None` for a store that only one process can open.
    fn cluster(&self) -> Option<&dyn ClusterStore>;

    /// Writes a record if the stored one is `expected`, or if there is none and that is expected. False if it isn't.
    ///
    /// For records of the whole cluster, which several nodes may change at the same time. What one slot's owner alone
    /// writes goes into its batches.
    fn compare_and_set(&self, record: &RecordWrite, expected: Option<&[u8]>)
    -> Result<bool, Error>;

    /// Whether the store can do its work: [`Error::Full`] and [`Error::Unavailable`] may pass by themselves,
    /// [`Error::Fenced`] won't. Cheap enough to ask every second.
    fn health(&self) -> Result<(), Error>;

    /// The sizes of the files in which the data is. Empty for a store in memory, or if they can't be asked.
    fn file_sizes(&self) -> Vec<FileSize>;

    /// Where the data is, for people: the path of the main file, or the address of the database without secrets.
    /// `None` if the data is in memory.
    fn place(&self) -> Option<String>;

    /// The disk of the files. `None` for a store without files, or if the disk doesn't tell.
    fn disk_usage(&self) -> Option<DiskUsage>;

    /// Makes the batches durable, all of them or none, as if one after the other. Each must carry its cell's current epoch
    /// and a sequence number one above that of the batch before. After an error nothing of them is stored, except that
    /// after [`Error::Unavailable`] all of them may be.
    fn commit(&self, batches: &[Batch]) -> Result<(), Error>;

    /// Entities by their ids: a result for each, in order.
    fn load(&self, wanted: &[EntityRef]) -> Vec<Result<Option<StoredEntity>, Error>>;

    /// Entities by their keys, in the order asked for; unknown keys are left out.
    fn load_by_keys(&self, keys: &[EntityKey]) -> Result<Vec<StoredEntity>, Error>;

    /// The fragments that hold the range's events, in order or reversed, as many as fit `max_bytes` and at least one if
    /// there is any. The first may begin before the range and the last may end after it.
    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error>;

    /// Lines of an entity's log with positions `first..=last`, in order or reversed, `limit` at most.
    fn log(
        &self,
        key: EntityKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error>;

    /// Entities in a range of slots with a wake-up after `after` and not later than `up_to`, by time and key.
    fn wakes(
        &self,
        slots: SlotRange,
        after: (Time, EntityKey),
        up_to: Time,
        limit: usize,
    ) -> Result<Vec<Wake>, Error>;

    /// Tasks of a range of slots with a key above `after`, by key.
    fn tasks(&self, slots: SlotRange, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error>;

    /// Unanswered messages from a range of slots with a key above `after`, by key.
    fn messages(
        &self,
        slots: SlotRange,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, Error>;

    /// Records of one kind whose key begins with `prefix`, after the key `after`, in order of their keys.
    fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error>;

    /// The runs and schedules that `query` finds, `page_size` at most, after a position or from the start
    /// of the list.
    fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Result<Page, Error>;

    /// The number of runs and schedules that `query` finds, grouped as it says.
    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error>;
}
