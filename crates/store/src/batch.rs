//! What is committed together.

use bytes::Bytes;
use perennial_engine::{NamespaceKey, PartWrite, RunKey, ScheduleKey, SchedulePart, Slot, Time};

use crate::{Epoch, visibility};

/// Everything some transitions of one cell's entities changed. Durable whole, or not at all.
///
/// Made by a cell; each key is in it at most once.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Who writes.
    pub cell: u32,
    /// Under which lease.
    pub epoch: Epoch,
    /// One above that of the cell's batch before, from 1 at each lease.
    pub sequence: u64,
    /// Runs that changed.
    pub runs: Vec<RunWrite>,
    /// Schedules that changed.
    pub schedules: Vec<ScheduleWrite>,
    /// Tasks that wait for a worker, or no longer do.
    pub tasks: Vec<TaskWrite>,
    /// Messages to other entities, or their removal after delivery.
    pub messages: Vec<MessageWrite>,
    /// Namespaces and other single records.
    pub records: Vec<RecordWrite>,
}

/// What changed of one run.
#[derive(Debug, Clone)]
pub struct RunWrite {
    /// Which.
    pub key: RunKey,
    /// Given in the batch that creates it, together with its head and its first events.
    pub created: Option<NewRun>,
    /// The run and all its rows go: parts, its own history unless another run goes on from it, its
    /// visibility, the pointer that says it is current. Nothing else is set then. Unknown keys are fine.
    pub deleted: bool,
    /// From now on the latest run of its workflow id. Of two writes in a batch the later one wins.
    pub becomes_current: bool,
    /// Encoded `RunHead`.
    pub head: Option<Vec<u8>>,
    /// Parts that changed.
    pub parts: Vec<PartWrite>,
    /// History that was added.
    pub history: Vec<Fragment>,
    /// The new stored wake-up: `None` leaves it, `Some(Time::NONE)` removes it.
    pub wake_at: Option<Time>,
    /// What lists now show of it.
    pub visibility: Option<Listed>,
}

/// A change to what lists show of a run.
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

/// Who a new run is.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its namespace.
    pub namespace: NamespaceKey,
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id: a UUID.
    pub run_id: String,
    /// Where it belongs.
    pub slot: Slot,
    /// The branches of history it goes on from, if it was reset: their events stay until this run and
    /// every other that names them are deleted.
    pub ancestors: Vec<RunKey>,
    /// The branch its first event is in: its own, or the first of its ancestors'.
    pub first_branch: RunKey,
}

/// What changed of one schedule.
#[derive(Debug, Clone)]
pub struct ScheduleWrite {
    /// Which incarnation.
    pub key: ScheduleKey,
    /// Given in the batch that creates it, together with its head. It is then the latest of its id.
    pub created: Option<NewSchedule>,
    /// The schedule and all its rows go: parts, logs, visibility. Nothing else is set then. Unknown keys
    /// are fine.
    pub deleted: bool,
    /// Encoded `ScheduleHead`.
    pub head: Option<Vec<u8>>,
    /// Parts that changed: encoded, or nothing if they are gone.
    pub parts: Vec<(SchedulePart, Option<Vec<u8>>)>,
    /// Lines of its logs, new or written again.
    pub log: Vec<LogLine>,
    /// The new stored wake-up: `None` leaves it, `Some(Time::NONE)` removes it.
    pub wake_at: Option<Time>,
    /// What lists now show of it.
    pub visibility: Option<visibility::Row>,
}

/// Who a new schedule is.
#[derive(Debug, Clone)]
pub struct NewSchedule {
    /// Its namespace.
    pub namespace: NamespaceKey,
    /// Its id.
    pub schedule_id: String,
    /// Where it belongs.
    pub slot: Slot,
}

/// One of the logs of a schedule, which are read by range and never as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Log {
    /// What people did to it, by sequence number.
    Audit,
    /// What became of its own times, by nominal time.
    Ledger,
    /// What became of times that people asked for, by nominal time.
    ManualLedger,
}

/// A line of a log. A line of the same log and position is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Which log.
    pub log: Log,
    /// Where in it.
    pub position: i64,
    /// Encoded.
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
