//! The only loop: cells, timers, task queues, messages and long polls.
//!
//! A [`Runtime`] is what a server holds. Every request becomes a command to the cell that owns the
//! workflow id; the answer comes when what it follows from is durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_engine::run::{Command, Rejection, Reply, Run, StartRun, UpdateProgress};
use perennial_engine::{NamespaceKey, Time};
use perennial_proto::store::{NamespaceRecord, RunName};
use perennial_proto::temporal::common::v1::{Header, Payloads, WorkerVersionStamp};
use perennial_proto::temporal::enums::v1::{
    QueryRejectCondition, TaskQueueType, UpdateWorkflowExecutionLifecycleStage,
    WorkflowExecutionStatus,
};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::query::v1::{WorkflowQuery, WorkflowQueryResult};
use perennial_proto::temporal::update::v1 as update;
use perennial_store::Fragment;

/// What a server holds: cheap to clone, shared by all its requests.
#[derive(Clone)]
pub struct Runtime {}

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
    /// The caller's time is up.
    #[error("deadline exceeded")]
    TimedOut,
}

/// The namespaces there are. A snapshot: ask again for a later one.
#[derive(Debug, Clone, Default)]
pub struct Namespaces {
    by_name: BTreeMap<String, Arc<NamespaceRecord>>,
}

impl Namespaces {
    /// By name, unless it is deleted.
    pub fn by_name(&self, name: &str) -> Option<&Arc<NamespaceRecord>> {
        self.by_name.get(name)
    }

    /// By its UUID.
    pub fn by_id(&self, id: &str) -> Option<&Arc<NamespaceRecord>> {
        self.by_name.values().find(|record| record.id == id)
    }

    /// By its interned key.
    pub fn by_key(&self, key: NamespaceKey) -> Option<&Arc<NamespaceRecord>> {
        self.by_name.values().find(|record| record.key == key.0)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NamespaceRecord>> {
        self.by_name.values()
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
    /// The worker's build, if it told.
    pub worker_version: Option<WorkerVersionStamp>,
    /// Which worker process, so that its shutdown can end its polls.
    pub worker_instance_key: String,
    /// Tasks a second the worker allows for the whole queue, if it told (activities).
    pub max_tasks_per_second: Option<f64>,
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
    /// Tasks that wait in the queue behind this one.
    pub backlog: i64,
}

/// An activity handed to a poller.
#[derive(Debug, Clone)]
pub struct ActivityGrant {
    /// The run as the activity was started.
    pub run: Arc<Run>,
    /// Which of its activities.
    pub scheduled_event_id: i64,
}

/// How a query ended.
#[derive(Debug, Clone)]
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
    /// Who polled it lately: identity, when, tasks a second allowed, build.
    pub pollers: Vec<(String, Time, f64, Option<WorkerVersionStamp>)>,
    /// How many tasks wait.
    pub backlog: i64,
    /// For how long the oldest has waited, in nanoseconds.
    pub backlog_age_nanos: i64,
    /// Tasks added a second, of late.
    pub tasks_add_rate: f32,
    /// Tasks taken a second, of late.
    pub tasks_dispatch_rate: f32,
}

impl Runtime {
    /// The time, as entities see it.
    pub fn now(&self) -> Time {
        todo!()
    }

    /// A new id.
    pub fn fresh_id(&self) -> String {
        todo!()
    }

    /// The namespaces there are now.
    pub fn namespaces(&self) -> Arc<Namespaces> {
        todo!()
    }

    /// Adds a namespace; refused if the name is taken. Its key is set here.
    pub async fn register_namespace(
        &self,
        _record: NamespaceRecord,
    ) -> Result<Arc<NamespaceRecord>, Refusal> {
        todo!()
    }

    /// Alters a namespace by a function of its present record, durably.
    pub async fn update_namespace(
        &self,
        _key: NamespaceKey,
        _change: Box<dyn FnOnce(&mut NamespaceRecord) -> Result<(), Rejection> + Send>,
    ) -> Result<Arc<NamespaceRecord>, Refusal> {
        todo!()
    }

    /// Starts a workflow, or finds the one that is there.
    pub async fn start(
        &self,
        _namespace: NamespaceKey,
        _workflow_id: String,
        _start: StartRun,
    ) -> Result<Started, Refusal> {
        todo!()
    }

    /// Gives a run a command.
    pub async fn send(&self, _target: RunName, _command: Command) -> Result<Sent, Refusal> {
        todo!()
    }

    /// A run as it is now.
    pub async fn read(&self, _target: RunName) -> Result<Arc<Run>, Refusal> {
        todo!()
    }

    /// A run as soon as it has more than `next_event_id - 1` events or is closed.
    pub async fn watch(&self, _target: RunName, _next_event_id: i64) -> Result<Arc<Run>, Refusal> {
        todo!()
    }

    /// Deletes a closed run, or terminates and deletes an open one.
    pub async fn delete(&self, _target: RunName) -> Result<(), Refusal> {
        todo!()
    }

    /// Starts a new run from the history of an old one, up to before `event_id`. Returns its run id.
    pub async fn reset(&self, _target: RunName, _reset: ResetRun) -> Result<String, Refusal> {
        todo!()
    }

    /// Fragments holding the run's events `first..=last`, in order or reversed, about `max_bytes` of them.
    pub async fn history(
        &self,
        _run: &Run,
        _first_event_id: i64,
        _last_event_id: i64,
        _max_bytes: usize,
        _reverse: bool,
    ) -> Result<Vec<Fragment>, Refusal> {
        todo!()
    }

    /// Waits for a workflow task. The caller drops the future when its time is up.
    pub async fn poll_workflow_task(&self, _poller: Poller) -> Result<WorkflowTaskGrant, Refusal> {
        todo!()
    }

    /// Waits for an activity.
    pub async fn poll_activity(&self, _poller: Poller) -> Result<ActivityGrant, Refusal> {
        todo!()
    }

    /// Ends the polls of a worker that goes: they return `Refusal::TimedOut`. With a sticky queue: its
    /// tasks go to the normal one.
    pub fn end_polls(
        &self,
        _namespace: NamespaceKey,
        _worker_instance_key: &str,
        _sticky_queue: &str,
    ) {
        todo!()
    }

    /// Asks a run a question.
    pub async fn query(
        &self,
        _target: RunName,
        _query: WorkflowQuery,
        _reject: QueryRejectCondition,
    ) -> Result<QueryOutcome, Refusal> {
        todo!()
    }

    /// A worker answers queries that came with a workflow task or by themselves.
    pub async fn answer_queries(
        &self,
        _target: RunName,
        _answers: BTreeMap<String, WorkflowQueryResult>,
    ) -> Result<(), Refusal> {
        todo!()
    }

    /// Gives a run an update, and waits until it is as far as `wait`.
    pub async fn update(
        &self,
        _target: RunName,
        _request: update::Request,
        _wait: UpdateWorkflowExecutionLifecycleStage,
    ) -> Result<UpdateStatus, Refusal> {
        todo!()
    }

    /// Waits for an update that was given before.
    pub async fn poll_update(
        &self,
        _target: RunName,
        _update_id: String,
        _wait: UpdateWorkflowExecutionLifecycleStage,
    ) -> Result<UpdateStatus, Refusal> {
        todo!()
    }

    /// Starts a workflow (or finds it) and gives it an update.
    pub async fn start_with_update(
        &self,
        _namespace: NamespaceKey,
        _workflow_id: String,
        _start: StartRun,
        _request: update::Request,
        _wait: UpdateWorkflowExecutionLifecycleStage,
    ) -> Result<(Started, Result<UpdateStatus, Refusal>), Refusal> {
        todo!()
    }

    /// What is known of a queue.
    pub fn describe_queue(
        &self,
        _namespace: NamespaceKey,
        _queue: &str,
        _kind: TaskQueueType,
    ) -> QueueDescription {
        todo!()
    }
}

/// Where and how a run is reset.
#[derive(Debug, Clone)]
pub struct ResetRun {
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
    /// Cancel requests after the point aren't given to the new run.
    pub exclude_cancels: bool,
    /// Who asks.
    pub identity: String,
}

/// What an SDK sends along with a query.
pub type QueryHeader = Header;
