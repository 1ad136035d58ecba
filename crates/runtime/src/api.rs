//! Arguments and results of the runtime's methods.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use perennial_engine::run::{Rejection, Reply, Run, TaskStamp, UpdateProgress};
use perennial_engine::{NamespaceKey, Time};
use perennial_proto::store::RunName;
use perennial_proto::temporal::command::v1::Command;
use perennial_proto::temporal::common::v1::{Payloads, WorkerVersionStamp};
use perennial_proto::temporal::deployment::v1::WorkerDeploymentOptions;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::query::v1::WorkflowQuery;
use perennial_store::Fragment;

use crate::queues::LentOut;

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The engine rejected it.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The outcome is unknown: retry.
    #[error("{0}")]
    Unavailable(String),
    /// Another node owns the entity now, or will soon. Nothing has happened: ask that node.
    #[error(
        "the request wasn't handled, because its cell has stopped or moved to another node; retry"
    )]
    Moved,
    /// A limit on waiting requests is reached: retry later (backpressure).
    #[error("{0}")]
    Overloaded(String),
    /// The disk is full: writes are refused, reads are served.
    #[error("{0}")]
    Exhausted(String),
    /// The stored rows are damaged: a retry won't help.
    #[error("{0}")]
    Damaged(String),
    /// Pages of a completion are lost: the worker sends all of them again.
    #[error("{0}")]
    PagesLost(String),
    /// The caller's deadline has passed.
    #[error("deadline exceeded")]
    TimedOut,
}

impl From<perennial_store::Error> for Refusal {
    fn from(error: perennial_store::Error) -> Self {
        use perennial_store::Error;
        let message = error.to_string();
        match error {
            // A retry reaches the new owner, or the cell after its restart.
            Error::Fenced(_) | Error::Conflict(_) | Error::Unavailable(_) => {
                Self::Unavailable(message)
            }
            Error::Full(_) => Self::Exhausted(message),
            Error::Corrupt(_) => Self::Damaged(message),
        }
    }
}

/// Result of a start.
#[derive(Debug, Clone)]
pub struct Started {
    /// The current run of the workflow id.
    pub run: Arc<Run>,
    /// Whether this request, or an earlier delivery of it, started the run.
    pub is_new: bool,
    /// The first workflow task, for an eager start.
    pub eager_task: Option<WorkflowTaskGrant>,
}

/// Result of a command.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The run's answer.
    pub reply: Reply,
    /// The run after the command.
    pub run: Arc<Run>,
    /// After a completed workflow task: the next one, if it was requested and is ready.
    pub next_task: Option<WorkflowTaskGrant>,
    /// After a completed workflow task: activities for eager execution.
    pub eager_activities: Vec<ActivityGrant>,
}

/// A worker that waits for a task.
#[derive(Debug, Clone)]
pub struct Poller {
    /// Namespace of the queue.
    pub namespace: NamespaceKey,
    /// The queue's name; a sticky queue's own name.
    pub queue: String,
    /// For a sticky queue: the normal queue beside it.
    pub normal_queue: Option<String>,
    /// Identity of the worker.
    pub identity: String,
    /// The worker's build, if given. It is recorded in the history.
    pub worker_version: Option<WorkerVersionStamp>,
    /// The worker's deployment, if given. Queue descriptions show it.
    pub deployment: Option<WorkerDeploymentOptions>,
    /// Key of the worker process. Its shutdown ends its polls.
    pub worker_instance_key: String,
    /// Rate limit that the worker sets for the whole queue, in tasks per second, if given (activities).
    pub max_tasks_per_second: Option<f64>,
}

/// How a poll ends at this node.
#[derive(Debug)]
pub enum Polled<T> {
    /// With a task.
    Granted(T),
    /// Without one: another node has tasks for it, or will have.
    Lent(LentPoll),
}

/// A poll that goes on at another node. Counts as lent until it is dropped.
#[derive(Debug)]
pub struct LentPoll(pub(crate) LentOut);

impl LentPoll {
    /// The address of the other node.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// How long it may wait there; `None` for as long as the client waits.
    pub fn wait(&self) -> Option<Duration> {
        self.0.wait
    }
}

/// A worker that shuts down, and the queues it polled.
#[derive(Debug, Clone)]
pub struct LeavingWorker {
    /// Namespace of its queues.
    pub namespace: NamespaceKey,
    /// Key in its polls. Several workers of a process may share one.
    pub worker_instance_key: String,
    /// The queue it polled. If empty, no poll ends.
    pub queue: String,
    /// Whether it polled that queue for workflow tasks.
    pub leaves_workflow_tasks: bool,
    /// Whether it polled that queue for activities.
    pub leaves_activities: bool,
    /// Its sticky queue: tasks in it move to the normal one.
    pub sticky_queue: String,
}

/// Load of a queue when a poll got a task. Workers use it to choose the next queue and the number of polls. It covers
/// only the polled queue, so that tasks in the normal queue don't attract polls to the sticky one. All zero for tasks
/// that were given without a poll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// Tasks that wait in the queue behind this one.
    pub backlog: i64,
    /// Suggested change of the worker's number of polls: -1 if this poll waited long, 1 if there is a backlog.
    pub polls_delta: i32,
}

/// A workflow task, or a query alone, handed to a poller.
#[derive(Debug, Clone)]
pub struct WorkflowTaskGrant {
    /// The run as the task was started; `run.head.workflow_task` is the task.
    pub run: Arc<Run>,
    /// A query without a workflow task. Its id is part of the token.
    pub query: Option<(String, WorkflowQuery)>,
    /// Queries sent with the task, by id.
    pub queries: BTreeMap<String, WorkflowQuery>,
    /// Updates for the workflow.
    pub messages: Vec<ProtocolMessage>,
    /// The task is from the sticky queue: the worker needs only the new history.
    pub sticky: bool,
    /// How busy the polled queue is.
    pub demand: Demand,
    /// The history for the worker, if all of it is cached.
    pub recent: Vec<Fragment>,
}

/// A page of a workflow task's completion, but not the last one.
#[derive(Debug, Clone)]
pub struct CompletionPage {
    /// The task, from the worker's token.
    pub task: TaskStamp,
    /// Page number, from 0.
    pub number: usize,
    /// Commands of the workflow.
    pub commands: Vec<Command>,
    /// Identity of the worker.
    pub identity: String,
}

/// Result of a wait for an event or for the close of a run.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Its current state.
    pub run: Arc<Run>,
    /// Its history from the awaited event, or its last one, if it is cached.
    pub recent: Vec<Fragment>,
}

/// An activity handed to a poller.
#[derive(Debug, Clone)]
pub struct ActivityGrant {
    /// The run as the activity was started.
    pub run: Arc<Run>,
    /// Identifies the activity.
    pub scheduled_event_id: i64,
    /// How busy the polled queue is.
    pub demand: Demand,
}

/// Result of a query.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "short-lived, one per query")]
pub enum QueryOutcome {
    /// The worker's answer.
    Answered(Option<Payloads>),
    /// The worker's error.
    Failed(String, Option<Failure>),
    /// Rejected by the caller's condition on the run's status.
    Rejected(WorkflowExecutionStatus),
}

/// Progress of an update.
#[derive(Debug, Clone)]
pub struct UpdateStatus {
    /// The run that has it.
    pub run: RunName,
    /// Its id.
    pub update_id: String,
    /// `None` while it is only admitted.
    pub progress: Option<UpdateProgress>,
}

/// Description of a task queue.
#[derive(Debug, Clone, Default)]
pub struct QueueDescription {
    /// Recent pollers: identity, last poll, rate limit in tasks per second, deployment.
    pub pollers: Vec<(String, Time, f64, Option<WorkerDeploymentOptions>)>,
    /// Waiting tasks.
    pub backlog: i64,
    /// Age of the oldest waiting task in nanoseconds.
    pub backlog_age_nanos: i64,
    /// Tasks added per second, recently.
    pub tasks_add_rate: f32,
    /// Tasks dispatched per second, recently.
    pub tasks_dispatch_rate: f32,
}

/// Options of a reset.
#[derive(Debug, Clone)]
pub struct ResetOptions {
    /// Idempotency key.
    pub request_id: String,
    /// Reason, recorded in the history.
    pub reason: String,
    /// A workflow task completed, failed, timed out or started event. Events before it are kept.
    pub event_id: i64,
    /// Don't reapply signals after the reset point.
    pub exclude_signals: bool,
    /// Don't reapply updates after the reset point.
    pub exclude_updates: bool,
}
