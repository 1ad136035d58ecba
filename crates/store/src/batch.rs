//! Batches: the rows that are committed together.

use bytes::Bytes;
use perennial_engine::{EntityId, EntityKey, Kind, PartId, Slot, Time};

use crate::{Epoch, visibility};

/// All rows that some transitions of one cell's entities changed. Committed atomically.
///
/// Made by a cell; each key is in it at most once.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The cell that writes.
    pub cell: CellId,
    /// The epoch of the cell's lease.
    pub epoch: Epoch,
    /// The number of the batch, which counts from 1 at each lease.
    pub sequence: u64,
    /// Entities that changed.
    pub entities: Vec<EntityWrite>,
    /// Tasks to add or remove.
    pub tasks: Vec<TaskWrite>,
    /// Messages to other entities to add, or to remove after delivery.
    pub messages: Vec<MessageWrite>,
    /// Namespaces and other single records.
    pub records: Vec<RecordWrite>,
}

impl Batch {
    /// A batch that changes nothing yet.
    pub fn empty(cell: CellId, epoch: Epoch, sequence: u64) -> Self {
        let (entities, tasks, messages, records) = (vec![], vec![], vec![], vec![]);
        Self { cell, epoch, sequence, entities, tasks, messages, records }
    }
}

/// Names a cell by its first slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId(pub Slot);

impl CellId {
    /// The cell that begins with the first slot. There is always one.
    pub const FIRST: Self = Self(Slot(0));
}

impl std::fmt::Display for CellId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.0.0)
    }
}

/// The changes of one entity.
#[derive(Debug, Clone)]
pub struct EntityWrite {
    /// The kind of the entity.
    pub kind: Kind,
    /// The key of the entity.
    pub key: EntityKey,
    /// Given in the batch that creates it, together with its head; for a run, with its first events too.
    pub created: Option<NewEntity>,
    /// Deletes the entity with all its rows: parts, logs, visibility, its own history unless another run needs it, and
    /// the row that makes it current. Nothing else may be set then. An unknown key is no error.
    pub deleted: bool,
    /// For a run: from now on the current one of its workflow id. Of two writes in a batch the later one wins. An
    /// entity of another kind is current from its creation on.
    pub becomes_current: bool,
    /// The encoded head.
    pub head: Option<Vec<u8>>,
    /// Parts that changed: encoded, or nothing if they are gone.
    pub parts: Vec<(PartId, Option<Vec<u8>>)>,
    /// History that was added.
    pub history: Vec<Fragment>,
    /// Lines of its logs, new or written again.
    pub log: Vec<LogLine>,
    /// The new stored wake-up: `None` leaves it, `Some(Time::NONE)` removes it.
    pub wake_at: Option<Time>,
    /// The new row in lists.
    pub visibility: Option<Listed>,
}

impl EntityWrite {
    /// A write that changes nothing yet.
    pub fn of(kind: Kind, key: EntityKey) -> Self {
        Self {
            kind,
            key,
            created: None,
            deleted: false,
            becomes_current: false,
            head: None,
            parts: Vec::new(),
            history: Vec::new(),
            log: Vec::new(),
            wake_at: None,
            visibility: None,
        }
    }
}

/// The identity of a new entity.
#[derive(Debug, Clone)]
pub struct NewEntity {
    /// Its id, from which its slot follows.
    pub id: EntityId,
    /// Given for a run.
    pub run: Option<NewRun>,
}

/// The columns of a new run that other entities don't have.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its run id: a UUID.
    pub run_id: String,
    /// If it is a reset run, the branches of history that it continues: their events stay until this run and all others
    /// that name them are deleted.
    pub ancestors: Vec<EntityKey>,
    /// The branch its first event is in: its own, or the first of its ancestors'.
    pub first_branch: EntityKey,
}

/// A change of an entity's row in lists.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed {
    /// Replaces the row.
    Row(Box<visibility::Row>),
    /// Updates the row of a run that has closed.
    Closed {
        /// `temporal.api.enums.v1.WorkflowExecutionStatus`.
        status: i32,
        /// The columns of a closed run.
        closed: visibility::Closed,
    },
}

/// A log of an entity, read by range and never as a whole. Only schedules have logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Log {
    /// Changes that people made, by sequence number.
    Audit,
    /// Verdicts on a schedule's own times, by nominal time.
    Ledger,
    /// Verdicts on times that people asked for, by nominal time.
    ManualLedger,
}

/// A line of a log. A line of the same log and position is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The log it belongs to.
    pub log: Log,
    /// Its place in the log.
    pub position: i64,
    /// The encoded line.
    pub value: Vec<u8>,
}

/// Consecutive events: an encoded `History`. Fragments can be concatenated. The cell that writes them makes sure that
/// those of one branch don't overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The id of the first event.
    pub first_event_id: i64,
    /// The id of the last event.
    pub last_event_id: i64,
    /// The encoded `History`; clones share it.
    pub bytes: Bytes,
}

/// A task that waits for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Ascending in the order tasks are made.
    pub key: i64,
    /// The slot of its run.
    pub slot: Slot,
    /// Encoded: which run, which task, which queue, how urgent.
    pub value: Vec<u8>,
}

/// A change to the waiting tasks.
#[derive(Debug, Clone)]
pub enum TaskWrite {
    /// Adds a task, or replaces it.
    Put(TaskRow),
    /// Removes a task. An unknown key is no error.
    Delete(i64),
}

/// A change to the undelivered messages.
#[derive(Debug, Clone)]
pub enum MessageWrite {
    /// Adds a message, to be delivered once this batch is durable.
    Put {
        /// Ascending within a sender.
        key: i64,
        /// The slot of the sender.
        slot: Slot,
        /// The encoded message.
        value: Vec<u8>,
    },
    /// Removes a delivered message. An unknown key is no error.
    Delete(i64),
}

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// A namespace, by its key.
    Namespace,
    /// A batch job, by namespace and job id.
    BatchJob,
    /// A fact about the whole cluster, by name.
    Cluster,
    /// An API key, by its id.
    ApiKey,
}

/// A record to write, or to remove.
#[derive(Debug, Clone)]
pub struct RecordWrite {
    /// Its kind.
    pub kind: RecordKind,
    /// Its key. Not empty: the page after "" is the first one.
    pub key: String,
    /// Its new value; `None` removes it.
    pub value: Option<Vec<u8>>,
}
