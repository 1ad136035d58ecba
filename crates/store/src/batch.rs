//! What is committed together.

use bytes::Bytes;
use perennial_engine::{EntityId, EntityKey, Kind, PartId, Slot, Time};

use crate::{Epoch, visibility};

/// Everything that some transitions of one cell's entities changed. Durable whole, or not at all.
///
/// Made by a cell; each key is in it at most once.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The cell that writes.
    pub cell: CellId,
    /// The epoch of the cell's lease.
    pub epoch: Epoch,
    /// One above that of the cell's batch before, from 1 at each lease.
    pub sequence: u64,
    /// Entities that changed.
    pub entities: Vec<EntityWrite>,
    /// Tasks that wait for a worker, or no longer do.
    pub tasks: Vec<TaskWrite>,
    /// Messages to other entities, or their removal after delivery.
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

/// What changed of one entity.
#[derive(Debug, Clone)]
pub struct EntityWrite {
    /// The kind of the entity.
    pub kind: Kind,
    /// The key of the entity.
    pub key: EntityKey,
    /// Given in the batch that creates it, together with its head; for a run, with its first events too.
    pub created: Option<NewEntity>,
    /// The entity and all its rows go: parts, logs, its own history unless another run goes on from it, its
    /// visibility, the pointer that says it is current. Nothing else is set then. Unknown keys are fine.
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
    /// What lists show of it from now on.
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
    /// For a run: what only runs have.
    pub run: Option<NewRun>,
}

/// What only a run has from its beginning.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its run id: a UUID.
    pub run_id: String,
    /// The branches of history it goes on from, if it was reset: their events stay until this run and
    /// every other that names them are deleted.
    pub ancestors: Vec<EntityKey>,
    /// The branch its first event is in: its own, or the first of its ancestors'.
    pub first_branch: EntityKey,
}

/// A change to what lists show of an entity.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed {
    /// All of it, over what was there.
    Row(Box<visibility::Row>),
    /// It has closed, and the rest is as it was.
    Closed {
        /// `temporal.api.enums.v1.WorkflowExecutionStatus`.
        status: i32,
        /// What is known of it now.
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

/// Events of one commit, or some of many: an encoded `History`. Fragments concatenate; those of one branch don't overlap,
/// which the cell that writes them sees to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Of the first event.
    pub first_event_id: i64,
    /// Of the last event.
    pub last_event_id: i64,
    /// The encoded `History`; shared by all who hold it.
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
    /// It waits.
    Put(TaskRow),
    /// It was taken, or is no longer wanted. Unknown keys are fine.
    Delete(i64),
}

/// A change to the undelivered messages.
#[derive(Debug, Clone)]
pub enum MessageWrite {
    /// To be delivered once this batch is durable.
    Put {
        /// Ascending within a sender.
        key: i64,
        /// Of the sender.
        slot: Slot,
        /// Encoded.
        value: Vec<u8>,
    },
    /// It was delivered. Unknown keys are fine.
    Delete(i64),
}

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// By the namespace's key.
    Namespace,
    /// By namespace and job id.
    BatchJob,
    /// By name: facts about the whole cluster.
    Cluster,
}

/// A record to write, or to remove.
#[derive(Debug, Clone)]
pub struct RecordWrite {
    /// What it is about.
    pub kind: RecordKind,
    /// Which one: not empty, for a page that goes on after "" is the first one.
    pub key: String,
    /// Its new value, or nothing if it goes.
    pub value: Option<Vec<u8>>,
}
