//! What a server asks of the runtime, and what it hears.

use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Why a request wasn't done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The engine says no.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// It may or may not have happened; ask again.
    #[error("{0}")]
    Unavailable(String),
    /// Too much waits already; ask again later.
    #[error("{0}")]
    Overloaded(String),
    /// Storage has no room: writes are refused until there is, reads are served.
    #[error("{0}")]
    Exhausted(String),
    /// The stored rows of what was asked for can't be read: asking again won't help.
    #[error("{0}")]
    Damaged(String),
    /// Pages of a completion aren't there: the worker sends all of them again.
    #[error("{0}")]
    PagesLost(String),
    /// The caller's time is up.
    #[error("deadline exceeded")]
    TimedOut,
}

impl From<perennial_store::Error> for Refusal {
    fn from(error: perennial_store::Error) -> Self {
        use perennial_store::Error;
        let message = error.to_string();
        match error {
            // Whoever owns the cell now can be asked; a cell that lost its lease begins anew.
            Error::Fenced(_) | Error::Conflict(_) | Error::Unavailable(_) => {
                Self::Unavailable(message)
            }
            Error::Full(_) => Self::Exhausted(message),
            Error::Corrupt(_) => Self::Damaged(message),
        }
    }
}

/// What a start led to.
#[derive(Debug, Clone)]
pub struct Started {
    /// The run that has the id now.
    pub run: Arc<Run>,
    /// Whether this request (or an earlier delivery of it) made it.
    pub is_new: bool,
    /// The first workflow task, if the caller takes it at once.
    pub eager_task: Option<WorkflowTaskGrant>,
}

/// A command's answer and the run after it.
#[derive(Debug, Clone)]
pub struct Sent {
    /// What the run said.
    pub reply: Reply,
    /// The run after the command.
    pub run: Arc<Run>,
    /// With a completed workflow task: the next one, if it was asked for and is there.
    pub next_task: Option<WorkflowTaskGrant>,
    /// With a completed workflow task: activities the worker takes at once.
    pub eager_activities: Vec<ActivityGrant>,
}

/// A worker that waits for a task.
#[derive(Debug, Clone)]
pub struct Poller {
    /// Whose queue.
    pub namespace: NamespaceKey,
    /// The queue's name; a sticky queue's own name.
    pub queue: String,
    /// For a sticky queue: the normal queue beside it.
    pub normal_queue: Option<String>,
    /// Of the worker.
    pub identity: String,
    /// The worker's build, if it told: it goes into the history.
    pub worker_version: Option<WorkerVersionStamp>,
    /// The worker's deployment, if it told: people are shown it.
    pub deployment: Option<WorkerDeploymentOptions>,
    /// Which worker process, so that its shutdown can end its polls.
    pub worker_instance_key: String,
    /// Tasks a second the worker allows for the whole queue, if it told (activities).
    pub max_tasks_per_second: Option<f64>,
}

/// A worker that goes, and what it leaves.
#[derive(Debug, Clone)]
pub struct LeavingWorker {
    /// Where its queues are.
    pub namespace: NamespaceKey,
    /// As it polled. Several workers of a process may say the same.
    pub worker_instance_key: String,
    /// The queue it polled; empty if it doesn't say, and then no poll ends.
    pub queue: String,
    /// Whether it polled that queue for workflow tasks.
    pub leaves_workflow_tasks: bool,
    /// And for activities.
    pub leaves_activities: bool,
    /// Its own queue: tasks in it go to the normal one.
    pub sticky_queue: String,
}

/// How busy a queue was when a poll of it ended with a task. Workers choose by it which queue they poll next, and
/// with how many polls: it speaks of the polled queue alone, so that a worker's own queue isn't preferred for the
/// tasks that wait in the normal one. All zero for tasks that nobody polled for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// Tasks that wait in the queue behind this one.
    pub backlog: i64,
    /// How many polls more the worker should have open: one less if this one waited for long.
    pub polls_delta: i32,
}

/// A workflow task, or a query alone, handed to a poller.
#[derive(Debug, Clone)]
pub struct WorkflowTaskGrant {
    /// The run as the task was started; `run.head.workflow_task` is the task.
    pub run: Arc<Run>,
    /// A query by itself: no task was started. Its id goes into the token.
    pub query: Option<(String, WorkflowQuery)>,
    /// Queries that travel with the task, by id.
    pub queries: BTreeMap<String, WorkflowQuery>,
    /// Updates for the workflow.
    pub messages: Vec<ProtocolMessage>,
    /// It was taken from the sticky queue: history from where the worker left off is enough.
    pub sticky: bool,
    /// How busy the polled queue is.
    pub demand: Demand,
    /// The history that goes with it, if all of it is at hand: saves reading it.
    pub recent: Vec<Fragment>,
}

/// A page of a workflow task's completion, but not the last one.
#[derive(Debug, Clone)]
pub struct CompletionPage {
    /// From the worker's token.
    pub task: TaskStamp,
    /// Where it stands among the others, from 0.
    pub number: usize,
    /// What the workflow wants done.
    pub commands: Vec<Command>,
    /// Of the worker.
    pub identity: String,
}

/// A run that came as far as someone waited for.
#[derive(Debug, Clone)]
pub struct Watched {
    /// As it is now.
    pub run: Arc<Run>,
    /// Its history from the event that was waited for, or its last one, if that is at hand.
    pub recent: Vec<Fragment>,
}

/// An activity handed to a poller.
#[derive(Debug, Clone)]
pub struct ActivityGrant {
    /// The run as the activity was started.
    pub run: Arc<Run>,
    /// Which of its activities.
    pub scheduled_event_id: i64,
    /// How busy the polled queue is.
    pub demand: Demand,
}

/// How a query ended.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and not for long")]
pub enum QueryOutcome {
    /// With an answer.
    Answered(Option<Payloads>),
    /// The worker said no.
    Failed(String, Option<Failure>),
    /// The run's status is one the caller doesn't want.
    Rejected(WorkflowExecutionStatus),
}

/// How far an update came, and whose it is.
#[derive(Debug, Clone)]
pub struct UpdateStatus {
    /// The run that has it.
    pub run: RunName,
    /// Its id.
    pub update_id: String,
    /// `None` while it is only admitted.
    pub progress: Option<UpdateProgress>,
}

/// A queue, for people.
#[derive(Debug, Clone, Default)]
pub struct QueueDescription {
    /// Who polled it lately: identity, when, tasks a second allowed, deployment.
    pub pollers: Vec<(String, Time, f64, Option<WorkerDeploymentOptions>)>,
    /// How many tasks wait.
    pub backlog: i64,
    /// For how long the oldest has waited, in nanoseconds.
    pub backlog_age_nanos: i64,
    /// Tasks added a second, of late.
    pub tasks_add_rate: f32,
    /// Tasks taken a second, of late.
    pub tasks_dispatch_rate: f32,
}

/// Where and how a run is reset.
#[derive(Debug, Clone)]
pub struct ResetOptions {
    /// Tells a repetition.
    pub request_id: String,
    /// Why.
    pub reason: String,
    /// A workflow task completed, failed, timed out or started event: everything up to before it is kept.
    pub event_id: i64,
    /// Signals after the point aren't given to the new run.
    pub exclude_signals: bool,
    /// Updates after the point aren't given to the new run.
    pub exclude_updates: bool,
}
