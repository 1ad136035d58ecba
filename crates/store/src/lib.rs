//! The durable truth.
//!
//! A [`Store`] takes [`Batch`]es and makes them durable whole or not at all; it gives back rows. It knows
//! nothing of what the rows mean: state and history are bytes to it. What it must never do is answer
//! `Ok` to a commit that a crash could undo, or accept a batch of an owner that has been replaced.
//!
//! Start with [`Store`]. [`MemoryStore`] says in maps what a store does; [`SqliteStore`] does it on a disk.

mod batch;
mod check;
pub mod file_system;
mod memory;
mod sqlite;
pub mod visibility;

pub use batch::{
    Batch, Fragment, Listed, Log, LogLine, MessageWrite, NewRun, NewSchedule, RecordKind,
    RecordWrite, RunWrite, ScheduleWrite, TaskRow, TaskWrite,
};

pub use memory::{Disk, MemoryStore};
pub use sqlite::{Durability, OnDamage, SqliteOptions, SqliteStore};

use visibility::{Count, Page, Position, Query};

use perennial_engine::{NamespaceKey, PartKey, RunKey, ScheduleKey, SchedulePart, Slot, Time};

/// Who may write: the greatest epoch given out for a cell wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i64);

/// What an owner learns when it takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Of this owner; greater than every one before it, of any cell. Keys made under it begin with it,
    /// so two owners never make the same key.
    pub epoch: Epoch,
    /// The last batch of the cell that is durable, if there ever was one: an owner that took a new lease after a
    /// failed commit learns from it whether that commit happened.
    pub last_batch: Option<LastBatch>,
}

/// How far the owners of a cell got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastBatch {
    /// Of the owner that had the cell before.
    pub epoch: Epoch,
    /// Of its last durable batch; 0 if it wrote none.
    pub sequence: u64,
}

/// Why a store didn't do as asked, named by what the caller does next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// This process may not write any more, or can't: stop. Someone else has taken over, the file was removed, a
    /// thread of the store died.
    #[error("{0}")]
    Fenced(String),
    /// The batch contradicts itself or what is stored, and nothing of it was written: drop what isn't
    /// committed, take a new lease, load again.
    #[error("the batch doesn't fit: {0}")]
    Conflict(String),
    /// It may or may not have happened. Take a new lease, which says so, then go on.
    #[error("the store didn't answer: {0}")]
    Unavailable(String),
    /// No room: refuse writes, serve reads.
    #[error("the store is full: {0}")]
    Full(String),
    /// What was read can't have been written by us.
    #[error("the store holds what it can't hold: {0}")]
    Corrupt(String),
}

/// A run as it was committed.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// Its key.
    pub key: RunKey,
    /// Encoded `RunHead`.
    pub head: Vec<u8>,
    /// All its parts, encoded, in the order of their keys.
    pub parts: Vec<(PartKey, Vec<u8>)>,
    /// The fragment of history that holds its first event, wherever that is: in the run's own branch, or
    /// in the first of its ancestors'.
    pub first_fragment: Fragment,
    /// Whether it is the latest run of its workflow id.
    pub is_current: bool,
}

/// A schedule as it was committed.
#[derive(Debug, Clone)]
pub struct StoredSchedule {
    /// Which incarnation.
    pub key: ScheduleKey,
    /// Encoded `ScheduleHead`.
    pub head: Vec<u8>,
    /// All its parts, encoded, in the order of their keys.
    pub parts: Vec<(SchedulePart, Vec<u8>)>,
}

/// A run or a schedule whose stored wake-up time has come, or soon will.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wake {
    /// When.
    pub at: Time,
    /// The number of its key: no run has a schedule's.
    pub key: i64,
    /// Where it belongs.
    pub slot: Slot,
    /// Whose it is.
    pub namespace: NamespaceKey,
    /// Which it is.
    pub sleeper: Sleeper,
}

/// Who has a wake-up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sleeper {
    /// A run.
    Run {
        /// Its workflow id.
        workflow_id: String,
        /// Its run id.
        run_id: String,
    },
    /// A schedule.
    Schedule {
        /// Its id.
        schedule_id: String,
    },
}

/// A message that was committed and not yet confirmed as delivered.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    /// Ascending within a sender.
    pub key: i64,
    /// Of the sender.
    pub slot: Slot,
    /// Encoded.
    pub value: Vec<u8>,
}

/// A part of a history to read: events `first..=last` of one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRange {
    /// The run in whose branch they are.
    pub branch: RunKey,
    /// First event wanted.
    pub first_event_id: i64,
    /// Last event wanted.
    pub last_event_id: i64,
}

/// A run to load: by its run id, or the current one of its workflow id.
pub type RunToLoad<'a> = (NamespaceKey, &'a str, Option<&'a str>);

/// What any backend does. Methods block: callers have threads for them.
pub trait Store: Send + Sync + 'static {
    /// Takes over `cell`: from now on batches of earlier epochs are refused.
    fn lease(&self, cell: u32) -> Result<Lease, Error>;

    /// Whether the store can do its work: [`Error::Full`] and [`Error::Unavailable`] may pass by themselves,
    /// [`Error::Fenced`] won't. Cheap enough to ask every second.
    fn health(&self) -> Result<(), Error>;

    /// Makes the batches durable, all of them or none, as if one after the other. Each must carry its
    /// cell's current epoch and a sequence number one above that of the batch before. Whatever the
    /// error, nothing of them is to be seen afterwards, unless it is [`Error::Unavailable`].
    fn commit(&self, batches: &[Batch]) -> Result<(), Error>;

    /// A run by its id, or the current run of the workflow id.
    fn load_run(
        &self,
        namespace: NamespaceKey,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Option<StoredRun>, Error>;

    /// Several at once, each as [`Store::load_run`] gives it.
    fn load_runs(&self, runs: &[RunToLoad<'_>]) -> Vec<Result<Option<StoredRun>, Error>> {
        let load = |&(namespace, workflow_id, run_id): &RunToLoad<'_>| {
            self.load_run(namespace, workflow_id, run_id)
        };
        runs.iter().map(load).collect()
    }

    /// The fragments that hold the range's events, in order (or the other way round), as many as fit
    /// `max_bytes` and always at least one if any is there. The first may begin before the range and the
    /// last end after it.
    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error>;

    /// The latest schedule of an id, deleted by its users or not.
    fn load_schedule(
        &self,
        namespace: NamespaceKey,
        schedule_id: &str,
    ) -> Result<Option<StoredSchedule>, Error>;

    /// Schedules by their keys, in the order asked for; what isn't there is left out.
    fn load_schedules(&self, keys: &[ScheduleKey]) -> Result<Vec<StoredSchedule>, Error>;

    /// Lines of a schedule's log with positions `first..=last`, in order or the other way round, `limit` at
    /// most.
    fn schedule_log(
        &self,
        key: ScheduleKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error>;

    /// Runs and schedules with a wake-up after `after` (by time, then the number of the key) and not later
    /// than `up_to`, in that order.
    fn wakes(&self, after: (Time, i64), up_to: Time, limit: usize) -> Result<Vec<Wake>, Error>;

    /// All tasks with a key above `after`, in order of their keys.
    fn tasks(&self, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error>;

    /// Undelivered messages with a key above `after`, in order.
    fn messages(&self, after: i64, limit: usize) -> Result<Vec<StoredMessage>, Error>;

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

    /// How many `query` finds, split as it says.
    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error>;
}
