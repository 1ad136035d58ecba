//! What can be asked of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::command::v1 as command;
use perennial_proto::temporal::common::v1::{
    Link, MeteringMetadata, Payloads, Priority, RetryPolicy, WorkerVersionStamp,
};
use perennial_proto::temporal::enums::v1::{
    WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowTaskFailedCause,
};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::{
    WorkflowExecutionSignaledEventAttributes, WorkflowExecutionStartedEventAttributes,
};
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::query::v1::WorkflowQueryResult;
use perennial_proto::temporal::sdk::v1::{UserMetadata, WorkflowTaskCompletedMetadata};
use perennial_proto::temporal::update::v1 as update;

use super::Run;
use crate::{NamespaceKey, Span};

/// A command to one run that exists.
#[derive(Debug, Clone)]
pub enum Command {
    /// A worker polls: hand it the workflow task.
    StartWorkflowTask(StartWorkflowTask),
    /// A worker finished a workflow task.
    CompleteWorkflowTask(Box<CompleteWorkflowTask>),
    /// A worker couldn't finish a workflow task.
    FailWorkflowTask(Box<FailWorkflowTask>),
    /// A worker polls: hand it the activity.
    StartActivity(StartActivity),
    /// The poller was gone when its task was durable: take the start back.
    UndoStart(TaskRef),
    /// A worker says how an attempt of an activity ended.
    ReportActivity(Box<ReportActivity>),
    /// A worker says an activity is alive.
    HeartbeatActivity(HeartbeatActivity),
    /// Someone signals it.
    Signal(Box<Signal>),
    /// Someone asks it to stop in its own way.
    RequestCancel(RequestCancel),
    /// Someone ends it.
    Terminate(Terminate),
    /// The worker with its cached state is gone: next task to the normal queue.
    ResetSticky,
    /// The queue of the worker with its cached state isn't polled: the scheduled task goes to the normal
    /// queue at once.
    PassOverSticky,
    /// An update waits outside of the durable state and needs a workflow task to be delivered with.
    WantTaskForUpdate,
    /// Time has passed: whatever is due happens.
    Wake,
    /// A message from another run.
    Receive(Arc<stored::EntityMessage>),
    /// The answer to a message that this run sent.
    TakeAnswer(Box<TakeAnswer>),
    /// Hold back, let go, begin anew or alter activities.
    ChangeActivities(Box<ChangeActivities>),
    /// Hold the run back.
    Pause(PauseRun),
    /// Let it go on.
    Unpause(PauseRun),
    /// Alter the run's options.
    UpdateOptions(Box<UpdateOptions>),
}

/// A task of a run, as it was offered: a later offer of the same task has another stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskRef {
    /// Its workflow task.
    Workflow(TaskStamp),
    /// One of its activities.
    Activity(TaskStamp),
}

/// Which attempt of which task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TaskStamp {
    /// The event that scheduled it.
    pub scheduled_event_id: i64,
    /// Counted from 1.
    pub attempt: i32,
    /// Counts the times the attempt was offered.
    pub stamp: i32,
}

impl From<&stored::WorkflowTask> for TaskStamp {
    fn from(task: &stored::WorkflowTask) -> Self {
        let &stored::WorkflowTask { scheduled_event_id, attempt, stamp, .. } = task;
        Self { scheduled_event_id, attempt, stamp }
    }
}

impl From<&stored::PendingActivity> for TaskStamp {
    fn from(activity: &stored::PendingActivity) -> Self {
        let &stored::PendingActivity { scheduled_event_id, attempt, stamp, .. } = activity;
        Self { scheduled_event_id, attempt, stamp }
    }
}

impl From<&stored::WaitingTask> for TaskStamp {
    fn from(task: &stored::WaitingTask) -> Self {
        let &stored::WaitingTask { scheduled_event_id, attempt, stamp, .. } = task;
        Self { scheduled_event_id, attempt, stamp }
    }
}

impl From<&stored::TaskToken> for TaskStamp {
    fn from(token: &stored::TaskToken) -> Self {
        let &stored::TaskToken { scheduled_event_id, attempt, stamp, .. } = token;
        Self { scheduled_event_id, attempt, stamp }
    }
}

/// See [`Command::StartWorkflowTask`].
#[derive(Debug, Clone)]
pub struct StartWorkflowTask {
    /// As it was offered.
    pub task: TaskStamp,
    /// Of the worker.
    pub identity: String,
    /// Of the poll.
    pub request_id: String,
    /// The worker's build, if it told.
    pub worker_version: Option<WorkerVersionStamp>,
}

/// See [`Command::StartActivity`].
#[derive(Debug, Clone)]
pub struct StartActivity {
    /// As it was offered.
    pub task: TaskStamp,
    /// Of the worker.
    pub identity: String,
    /// Of the poll.
    pub request_id: String,
}

/// See [`Command::CompleteWorkflowTask`].
#[derive(Debug, Clone, Default)]
pub struct CompleteWorkflowTask {
    /// From the worker's token.
    pub token: TaskStamp,
    /// What the workflow wants done.
    pub commands: Vec<command::Command>,
    /// Answers to updates.
    pub messages: Vec<ProtocolMessage>,
    /// Where the worker keeps its state, for the next task.
    pub sticky: Option<stored::StickyQueue>,
    /// The worker isn't done: another task at once.
    pub force_new_task: bool,
    /// That other task, if there is one, comes back in the answer.
    pub return_new_task: bool,
    /// The worker can go back to an earlier event, as it must if a task that brought it new events leaves no
    /// trace.
    pub can_forget_events: bool,
    /// Of the worker.
    pub identity: String,
    /// What the SDK keeps about its own decisions.
    pub sdk_metadata: Option<WorkflowTaskCompletedMetadata>,
    /// What the SDK counted.
    pub metering_metadata: Option<MeteringMetadata>,
    /// The worker's build, if it told.
    pub worker_version: Option<WorkerVersionStamp>,
    /// An older name of the worker's build.
    pub binary_checksum: String,
    /// Updates that were given to the worker with this task, by their ids: set by the cell, which alone
    /// knows them.
    pub admitted_updates: BTreeMap<String, update::Request>,
    /// Whether further updates or queries wait, so that another task is needed: set by the cell.
    pub more_updates_wait: bool,
    /// Whether its pages are larger together than is allowed: set by the cell, which alone sees them.
    pub is_too_large: bool,
    /// The run's own namespace and those its commands name, by name: set by the cell. What isn't here
    /// doesn't exist.
    pub namespaces: BTreeMap<String, NamespaceRef>,
    /// Types of the namespace's search attributes, by name; what isn't here is refused.
    pub search_attribute_types: BTreeMap<String, i32>,
    /// Answers to queries that went with the task, by their ids: the cell hands them on if the completion is
    /// taken.
    pub query_answers: BTreeMap<String, WorkflowQueryResult>,
}

/// A namespace as events name it, and the key messages are sent by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceRef {
    /// Interned.
    pub key: NamespaceKey,
    /// A UUID.
    pub id: String,
    /// As users call it.
    pub name: String,
}

impl NamespaceRef {
    /// The run's own namespace among those that are known, or at least its key.
    pub(crate) fn of_run<'a>(run: &Run, known: impl IntoIterator<Item = &'a Self>) -> Self {
        let key = NamespaceKey(run.head.namespace);
        let unnamed = || Self { key, id: String::new(), name: String::new() };
        known.into_iter().find(|known| known.key == key).cloned().unwrap_or_else(unnamed)
    }
}

impl CompleteWorkflowTask {
    /// The namespaces that its commands name.
    pub fn namespaces_named(&self) -> impl Iterator<Item = &str> {
        use command::command::Attributes as Of;
        let attributes = self.commands.iter().filter_map(|command| command.attributes.as_ref());
        attributes.filter_map(|attributes| match attributes {
            Of::StartChildWorkflowExecutionCommandAttributes(it) => Some(it.namespace.as_str()),
            Of::SignalExternalWorkflowExecutionCommandAttributes(it) => Some(&it.namespace),
            Of::RequestCancelExternalWorkflowExecutionCommandAttributes(it) => Some(&it.namespace),
            _ => None,
        })
    }

    /// Whether its commands set search attributes.
    pub fn sets_search_attributes(&self) -> bool {
        use command::command::Attributes as Of;
        let mut attributes = self.commands.iter().filter_map(|command| command.attributes.as_ref());
        attributes.any(|attributes| match attributes {
            Of::StartChildWorkflowExecutionCommandAttributes(it) => it.search_attributes.is_some(),
            Of::ContinueAsNewWorkflowExecutionCommandAttributes(it) => {
                it.search_attributes.is_some()
            }
            Of::UpsertWorkflowSearchAttributesCommandAttributes(it) => {
                it.search_attributes.is_some()
            }
            _ => false,
        })
    }
}

/// See [`Command::FailWorkflowTask`].
#[derive(Debug, Clone)]
pub struct FailWorkflowTask {
    /// From the worker's token.
    pub token: TaskStamp,
    /// Why, in one word.
    pub cause: WorkflowTaskFailedCause,
    /// Why, at length.
    pub failure: Option<Failure>,
    /// Of the worker.
    pub identity: String,
    /// The worker's build, if it told.
    pub binary_checksum: String,
}

/// How a caller names an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivityTarget {
    /// By the token of one attempt.
    Token(TaskStamp),
    /// By its id: whatever attempt is running.
    Id(String),
}

/// See [`Command::ReportActivity`].
#[derive(Debug, Clone)]
pub struct ReportActivity {
    /// Which.
    pub target: ActivityTarget,
    /// How its attempt ended.
    pub outcome: ActivityOutcome,
    /// Of the worker.
    pub identity: String,
    /// The worker's build, if it told.
    pub worker_version: Option<WorkerVersionStamp>,
}

/// How an attempt of an activity ended.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one at a time, on its way from the wire")]
pub enum ActivityOutcome {
    /// With a result.
    Completed(Option<Payloads>),
    /// With a failure, and its last heartbeat.
    Failed(Option<Failure>, Option<Payloads>),
    /// As it was asked to.
    Canceled(Option<Payloads>),
}

/// See [`Command::HeartbeatActivity`].
#[derive(Debug, Clone)]
pub struct HeartbeatActivity {
    /// Which.
    pub target: ActivityTarget,
    /// Its progress.
    pub details: Option<Payloads>,
    /// Of the worker.
    pub identity: String,
}

/// See [`Command::Signal`].
#[derive(Debug, Clone)]
pub struct Signal {
    /// As it will stand in the history; its `request_id` tells a repetition.
    pub attributes: WorkflowExecutionSignaledEventAttributes,
    /// Where it came from.
    pub links: Vec<Link>,
}

/// See [`Command::RequestCancel`].
#[derive(Debug, Clone, Default)]
pub struct RequestCancel {
    /// Tells a repetition.
    pub request_id: String,
    /// Why.
    pub reason: String,
    /// Who asks.
    pub identity: String,
    /// The workflow that asks, if one does.
    pub external: Option<(stored::RunName, i64)>,
    /// Where it came from.
    pub links: Vec<Link>,
}

/// See [`Command::Terminate`].
#[derive(Debug, Clone, Default)]
pub struct Terminate {
    /// Why.
    pub reason: String,
    /// More about why.
    pub details: Option<Payloads>,
    /// Who.
    pub identity: String,
    /// Where it came from.
    pub links: Vec<Link>,
}

/// A start of a workflow. A command to a workflow id: it may find a run there.
#[derive(Debug, Clone)]
pub struct StartRun {
    /// Tells a repetition.
    pub request_id: String,
    /// Chosen beforehand, or made anew.
    pub run_id: Option<String>,
    /// As the caller gave it: the first event without what the engine fills in (ids, times, attempt).
    pub started: Box<WorkflowExecutionStartedEventAttributes>,
    /// The first workflow task waits this long.
    pub delay: Span,
    /// What if a closed run has this id.
    pub reuse_policy: WorkflowIdReusePolicy,
    /// What if an open run has this id.
    pub conflict_policy: WorkflowIdConflictPolicy,
    /// Shown to people.
    pub user_metadata: Option<UserMetadata>,
    /// Where it came from.
    pub links: Vec<Link>,
    /// The caller is a worker and takes the first workflow task with the answer.
    pub eager: Option<EagerStart>,
    /// Delivered with the start, or to the run that is there already.
    pub signal: Option<Box<Signal>>,
    /// If a run is there and is used, attach these to it.
    pub attach_links: bool,
    /// If a run is there and is used, remember this request's id on it.
    pub attach_request_id: bool,
}

/// The worker that starts a workflow and takes its first task.
#[derive(Debug, Clone)]
pub struct EagerStart {
    /// Of the worker.
    pub identity: String,
}

/// The answer to a message that this run sent. See [`Command::TakeAnswer`].
#[derive(Debug, Clone)]
pub struct TakeAnswer {
    /// As it was sent.
    pub message: Arc<stored::EntityMessage>,
    /// What the receiver said.
    pub answer: Answer,
    /// The name of the receiver's namespace: set by the cell. Empty if there is none any more.
    pub namespace: String,
}

/// What a receiver says to a message. The same to each delivery of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Taken.
    Taken,
    /// It runs, under this run id.
    Started(String),
    /// Another run has the workflow id.
    IdTaken,
    /// There is no such namespace.
    NamespaceNotFound,
    /// There is no such run, or it has closed.
    RunNotFound,
    /// The receiver has as many signals as it may.
    TooManySignals,
}

/// Which activities an operation is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivitySelection {
    /// By id.
    Id(String),
    /// All pending ones of a type.
    Type(String),
    /// All pending ones.
    All,
}

/// See [`Command::ChangeActivities`].
#[derive(Debug, Clone)]
pub struct ChangeActivities {
    /// Which.
    pub selection: ActivitySelection,
    /// What to do with them.
    pub change: ActivityChange,
    /// Who asks.
    pub identity: String,
}

/// What to do with activities.
#[derive(Debug, Clone)]
pub enum ActivityChange {
    /// No further attempt until they are let go.
    Pause {
        /// Why.
        reason: String,
        /// Tells a repetition.
        request_id: String,
    },
    /// Go on.
    Unpause {
        /// From the first attempt.
        reset_attempts: bool,
        /// Forgetting the progress.
        reset_heartbeat: bool,
        /// Spread over this much time, each by a part of it that is an argument.
        jitter: Span,
        /// In [0, 1).
        jitter_fraction: f64,
    },
    /// Begin from the first attempt.
    Reset {
        /// Forgetting the progress.
        reset_heartbeat: bool,
        /// Stay paused if paused.
        keep_paused: bool,
        /// Spread over this much time.
        jitter: Span,
        /// In [0, 1).
        jitter_fraction: f64,
        /// Back to the options it was scheduled with.
        restore_original_options: bool,
    },
    /// Other options.
    UpdateOptions(ActivityOptions),
}

/// Options of an activity that may change while it is pending; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct ActivityOptions {
    /// Another task queue.
    pub task_queue: Option<String>,
    /// Another schedule-to-close timeout.
    pub schedule_to_close: Option<Span>,
    /// Another schedule-to-start timeout.
    pub schedule_to_start: Option<Span>,
    /// Another start-to-close timeout.
    pub start_to_close: Option<Span>,
    /// Another heartbeat timeout.
    pub heartbeat: Option<Span>,
    /// Another retry policy.
    pub retry_policy: Option<RetryPolicy>,
    /// Another priority.
    pub priority: Option<Priority>,
    /// Back to the options it was scheduled with.
    pub restore_original: bool,
}

/// See [`Command::Pause`].
#[derive(Debug, Clone, Default)]
pub struct PauseRun {
    /// Who asks.
    pub identity: String,
    /// Why.
    pub reason: String,
    /// Tells a repetition.
    pub request_id: String,
}

/// See [`Command::UpdateOptions`]; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct UpdateOptions {
    /// Another priority.
    pub priority: Option<Priority>,
    /// Who asks.
    pub identity: String,
}
