//! The commands of a run, with their arguments.

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

/// A command to an existing run.
#[derive(Debug, Clone)]
pub enum Command {
    /// A worker polls and receives the workflow task.
    StartWorkflowTask(StartWorkflowTask),
    /// A worker completes a workflow task.
    CompleteWorkflowTask(Box<CompleteWorkflowTask>),
    /// A worker reports that a workflow task failed.
    FailWorkflowTask(Box<FailWorkflowTask>),
    /// A worker polls and receives the activity task.
    StartActivity(StartActivity),
    /// The poller disconnected before its task was durable: undo the start.
    UndoStart(TaskRef),
    /// A worker reports how an attempt of an activity ended.
    ReportActivity(Box<ReportActivity>),
    /// A worker reports that an activity is alive.
    HeartbeatActivity(HeartbeatActivity),
    /// A client signals the workflow.
    Signal(Box<Signal>),
    /// A client asks the workflow to cancel itself.
    RequestCancel(RequestCancel),
    /// A client terminates the run.
    Terminate(Terminate),
    /// The worker that has the workflow cached is gone: the next task goes to the normal queue.
    ResetSticky,
    /// The sticky queue has no poller: the scheduled task goes to the normal queue at once.
    PassOverSticky,
    /// An admitted update, which isn't durable yet, needs a workflow task to be delivered with.
    WantTaskForUpdate,
    /// A deadline may have passed: handle all that are due.
    Wake,
    /// A message from another run.
    Receive(Arc<stored::EntityMessage>),
    /// The answer to a message that this run sent.
    TakeAnswer(Box<TakeAnswer>),
    /// An operator pauses, unpauses, resets or changes activities.
    ChangeActivities(Box<ChangeActivities>),
    /// An operator pauses the run.
    Pause(PauseRun),
    /// An operator unpauses the run.
    Unpause(PauseRun),
    /// A client changes the run's options.
    UpdateOptions(Box<UpdateOptions>),
}

/// A reference to an offered task. A later offer of the same task has another stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskRef {
    /// The run's workflow task.
    Workflow(TaskStamp),
    /// An activity task of the run.
    Activity(TaskStamp),
}

/// Identifies one offer of one attempt of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TaskStamp {
    /// The id of the event that scheduled the task.
    pub scheduled_event_id: i64,
    /// The attempt number, from 1.
    pub attempt: i32,
    /// The number of the offer within the attempt.
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

/// Arguments of [`Command::StartWorkflowTask`].
#[derive(Debug, Clone)]
pub struct StartWorkflowTask {
    /// The task, as it was offered.
    pub task: TaskStamp,
    /// The worker's identity.
    pub identity: String,
    /// The request id of the poll.
    pub request_id: String,
    /// The worker's build, if the worker reported it.
    pub worker_version: Option<WorkerVersionStamp>,
}

/// Arguments of [`Command::StartActivity`].
#[derive(Debug, Clone)]
pub struct StartActivity {
    /// The task, as it was offered.
    pub task: TaskStamp,
    /// The worker's identity.
    pub identity: String,
    /// The request id of the poll.
    pub request_id: String,
}

/// Arguments of [`Command::CompleteWorkflowTask`].
#[derive(Debug, Clone, Default)]
pub struct CompleteWorkflowTask {
    /// The task, from the worker's token.
    pub token: TaskStamp,
    /// The workflow's commands, in order.
    pub commands: Vec<command::Command>,
    /// The workflow's answers to updates.
    pub messages: Vec<ProtocolMessage>,
    /// The worker's sticky queue, for the next task.
    pub sticky: Option<stored::StickyQueue>,
    /// The worker isn't done and wants another task at once.
    pub force_new_task: bool,
    /// Return the next task, if there is one, in the response.
    pub return_new_task: bool,
    /// The worker can roll its cached workflow back to an earlier event. A task that brought new events to the worker
    /// may be dropped from the history only if it can.
    pub can_forget_events: bool,
    /// The worker's identity.
    pub identity: String,
    /// Metadata that the SDK stores about its own decisions.
    pub sdk_metadata: Option<WorkflowTaskCompletedMetadata>,
    /// Counters of the SDK.
    pub metering_metadata: Option<MeteringMetadata>,
    /// The worker's build, if the worker reported it.
    pub worker_version: Option<WorkerVersionStamp>,
    /// The worker's build, as older SDKs report it.
    pub binary_checksum: String,
    /// Updates that were delivered to the worker with this task, by their ids. Set by the cell, which holds them in
    /// memory.
    pub admitted_updates: BTreeMap<String, update::Request>,
    /// Whether more updates or queries wait, so that another task is needed. Set by the cell.
    pub more_updates_wait: bool,
    /// Whether the pages of the completion exceed the size limit together. Set by the cell, which collects them.
    pub is_too_large: bool,
    /// The run's own namespace and the namespaces that its commands name, by name. Set by the cell. A namespace that
    /// is missing here doesn't exist.
    pub namespaces: BTreeMap<String, NamespaceRef>,
    /// The types of the namespace's search attributes, by name. Other attributes are rejected.
    pub search_attribute_types: BTreeMap<String, i32>,
    /// Answers to queries that were delivered with the task, by their ids. The cell forwards them if the completion is
    /// accepted.
    pub query_answers: BTreeMap<String, WorkflowQueryResult>,
}

/// A namespace: its name and id for events, and its key for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceRef {
    /// The namespace's number in the store.
    pub key: NamespaceKey,
    /// The namespace's UUID.
    pub id: String,
    /// The namespace's name.
    pub name: String,
}

impl NamespaceRef {
    /// The run's own namespace among those that are known. If it isn't known, only its key is set.
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

    /// Whether any of the commands sets search attributes.
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

/// Arguments of [`Command::FailWorkflowTask`].
#[derive(Debug, Clone)]
pub struct FailWorkflowTask {
    /// The task, from the worker's token.
    pub token: TaskStamp,
    /// The category of the failure.
    pub cause: WorkflowTaskFailedCause,
    /// The failure itself.
    pub failure: Option<Failure>,
    /// The worker's identity.
    pub identity: String,
    /// The worker's build, if the worker reported it.
    pub binary_checksum: String,
}

/// Identifies an activity in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivityTarget {
    /// One attempt, by its task token.
    Token(TaskStamp),
    /// The activity of this id, whichever attempt is running.
    Id(String),
}

/// Arguments of [`Command::ReportActivity`].
#[derive(Debug, Clone)]
pub struct ReportActivity {
    /// The activity.
    pub target: ActivityTarget,
    /// How the attempt ended.
    pub outcome: ActivityOutcome,
    /// The worker's identity.
    pub identity: String,
    /// The worker's build, if the worker reported it.
    pub worker_version: Option<WorkerVersionStamp>,
}

/// How an attempt of an activity ended.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one at a time, on its way from the wire")]
pub enum ActivityOutcome {
    /// The attempt completed with a result.
    Completed(Option<Payloads>),
    /// The attempt failed; with its last heartbeat details.
    Failed(Option<Failure>, Option<Payloads>),
    /// The attempt was canceled, as requested.
    Canceled(Option<Payloads>),
}

/// Arguments of [`Command::HeartbeatActivity`].
#[derive(Debug, Clone)]
pub struct HeartbeatActivity {
    /// The activity.
    pub target: ActivityTarget,
    /// The heartbeat details.
    pub details: Option<Payloads>,
    /// The worker's identity.
    pub identity: String,
}

/// Arguments of [`Command::Signal`].
#[derive(Debug, Clone)]
pub struct Signal {
    /// The attributes of the history event. Their `request_id` identifies retries of the request.
    pub attributes: WorkflowExecutionSignaledEventAttributes,
    /// Links to the origin of the request.
    pub links: Vec<Link>,
}

/// Arguments of [`Command::RequestCancel`].
#[derive(Debug, Clone, Default)]
pub struct RequestCancel {
    /// Identifies retries of the request.
    pub request_id: String,
    /// The reason, for the history.
    pub reason: String,
    /// The caller's identity.
    pub identity: String,
    /// The workflow that sent the request, with the id of its initiating event, if a workflow did.
    pub external: Option<(stored::RunName, i64)>,
    /// Links to the origin of the request.
    pub links: Vec<Link>,
}

/// Arguments of [`Command::Terminate`].
#[derive(Debug, Clone, Default)]
pub struct Terminate {
    /// The reason, for the history.
    pub reason: String,
    /// Details for the history.
    pub details: Option<Payloads>,
    /// The caller's identity.
    pub identity: String,
    /// Links to the origin of the request.
    pub links: Vec<Link>,
}

/// A start of a workflow: a command to a workflow id, which may have a run already.
#[derive(Debug, Clone)]
pub struct StartRun {
    /// Identifies retries of the request.
    pub request_id: String,
    /// The run id, if it was chosen beforehand.
    pub run_id: Option<String>,
    /// The attributes of the first event, without those that the engine fills in (ids, times, attempt).
    pub started: Box<WorkflowExecutionStartedEventAttributes>,
    /// How long the first workflow task is delayed.
    pub delay: Span,
    /// The policy if a closed run has this workflow id.
    pub reuse_policy: WorkflowIdReusePolicy,
    /// The policy if an open run has this workflow id.
    pub conflict_policy: WorkflowIdConflictPolicy,
    /// Summary and details, shown to users.
    pub user_metadata: Option<UserMetadata>,
    /// Links to the origin of the request.
    pub links: Vec<Link>,
    /// Set if the caller is a worker that takes the first workflow task with the response.
    pub eager: Option<EagerStart>,
    /// A signal for the new run, or for the existing run if that is used.
    pub signal: Option<Box<Signal>>,
    /// If an existing run is used, attach the links to it.
    pub attach_links: bool,
    /// If an existing run is used, remember this request id on it.
    pub attach_request_id: bool,
    /// The trace of the call, which becomes the parent of the workflow's span. Empty if there is none.
    pub traceparent: String,
}

/// The worker that starts a workflow and takes its first task.
#[derive(Debug, Clone)]
pub struct EagerStart {
    /// The worker's identity.
    pub identity: String,
}

/// Arguments of [`Command::TakeAnswer`]: the answer to a message that this run sent.
#[derive(Debug, Clone)]
pub struct TakeAnswer {
    /// The message, as it was sent.
    pub message: Arc<stored::EntityMessage>,
    /// The receiver's answer.
    pub answer: Answer,
    /// The name of the receiver's namespace. Set by the cell; empty if the namespace is gone.
    pub namespace: String,
}

/// A receiver's answer to a message. Every delivery of a message gets the same answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The message took effect.
    Taken,
    /// The run was started, with this run id.
    Started(String),
    /// Another run has the workflow id.
    IdTaken,
    /// The namespace doesn't exist.
    NamespaceNotFound,
    /// The run doesn't exist, or has closed.
    RunNotFound,
    /// The receiver has reached its limit of signals.
    TooManySignals,
}

/// Selects activities of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivitySelection {
    /// The activity of this id.
    Id(String),
    /// All pending activities of this type.
    Type(String),
    /// All pending activities.
    All,
}

/// Arguments of [`Command::ChangeActivities`].
#[derive(Debug, Clone)]
pub struct ChangeActivities {
    /// The activities to change.
    pub selection: ActivitySelection,
    /// The change.
    pub change: ActivityChange,
    /// The caller's identity.
    pub identity: String,
}

/// A change of pending activities.
#[derive(Debug, Clone)]
pub enum ActivityChange {
    /// Start no further attempt until unpaused.
    Pause {
        /// The reason, for users.
        reason: String,
        /// Identifies retries of the request.
        request_id: String,
    },
    /// Unpause.
    Unpause {
        /// Begin again with the first attempt.
        reset_attempts: bool,
        /// Drop the heartbeat details.
        reset_heartbeat: bool,
        /// Spread the activities over this much time.
        jitter: Span,
        /// This request's share of the jitter, in [0, 1).
        jitter_fraction: f64,
    },
    /// Begin again with the first attempt.
    Reset {
        /// Drop the heartbeat details.
        reset_heartbeat: bool,
        /// Leave a paused activity paused.
        keep_paused: bool,
        /// Spread the activities over this much time.
        jitter: Span,
        /// This request's share of the jitter, in [0, 1).
        jitter_fraction: f64,
        /// Restore the options that the activity was scheduled with.
        restore_original_options: bool,
    },
    /// Change the options.
    UpdateOptions(ActivityOptions),
}

/// New options for a pending activity; `None` leaves an option as it is.
#[derive(Debug, Clone, Default)]
pub struct ActivityOptions {
    /// The task queue.
    pub task_queue: Option<String>,
    /// The schedule-to-close timeout.
    pub schedule_to_close: Option<Span>,
    /// The schedule-to-start timeout.
    pub schedule_to_start: Option<Span>,
    /// The start-to-close timeout.
    pub start_to_close: Option<Span>,
    /// The heartbeat timeout.
    pub heartbeat: Option<Span>,
    /// The retry policy.
    pub retry_policy: Option<RetryPolicy>,
    /// The priority.
    pub priority: Option<Priority>,
    /// First restore the options that the activity was scheduled with.
    pub restore_original: bool,
}

/// Arguments of [`Command::Pause`] and [`Command::Unpause`].
#[derive(Debug, Clone, Default)]
pub struct PauseRun {
    /// The caller's identity.
    pub identity: String,
    /// The reason, for users.
    pub reason: String,
    /// Identifies retries of the request.
    pub request_id: String,
}

/// Arguments of [`Command::UpdateOptions`]; `None` leaves an option as it is.
#[derive(Debug, Clone, Default)]
pub struct UpdateOptions {
    /// The priority.
    pub priority: Option<Priority>,
    /// The caller's identity.
    pub identity: String,
}
