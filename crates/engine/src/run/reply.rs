//! What a run answers.

/// The answer to a command that was taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Done; nothing more to say.
    Done,
    /// The task is handed out.
    TaskStarted,
    /// A workflow task was completed.
    WorkflowTaskCompleted(TaskCompleted),
    /// Said to a heartbeat.
    Heartbeat(HeartbeatReply),
    /// Said to another run's message.
    Answered(super::Answer),
}

/// See [`Reply::WorkflowTaskCompleted`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskCompleted {
    /// Activities started at once on the worker that asked for them, by the events that scheduled them.
    pub eager_activities: Vec<i64>,
    /// Another workflow task is started on the same worker.
    pub new_task_started: bool,
    /// The worker must forget everything after this event; 0 if it needn't.
    pub reset_history_event_id: i64,
    /// What became of updates that were answered with this completion.
    pub updates: Vec<(String, UpdateProgress)>,
}

/// How far an update came.
#[derive(Debug, Clone, PartialEq)]
pub enum UpdateProgress {
    /// It is in the history.
    Accepted,
    /// It has an outcome.
    Completed(perennial_proto::temporal::update::v1::Outcome),
    /// The workflow refused it; it left no trace.
    Rejected(perennial_proto::temporal::failure::v1::Failure),
}

/// See [`Reply::Heartbeat`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeartbeatReply {
    /// The workflow asked for its cancellation.
    pub cancel_requested: bool,
    /// An operator paused it.
    pub paused: bool,
    /// An operator reset it.
    pub reset: bool,
}

/// Why a workflow id isn't free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Its run is open.
    Running,
    /// Its run has closed, and no other may have the id.
    Finished,
    /// Its run was completed, and only a failed one may be followed by another.
    Succeeded,
}

impl Taken {
    fn message(self, workflow_id: &str, run_id: &str) -> String {
        let run = format!("WorkflowId: {workflow_id}, RunId: {run_id}.");
        match self {
            Self::Running => format!("Workflow execution is already running. {run}"),
            Self::Finished => format!(
                "Workflow execution already finished. {run} \
                 Workflow Id reuse policy: reject duplicate workflow Id."
            ),
            Self::Succeeded => format!(
                "Workflow execution already finished successfully. {run} \
                 Workflow Id reuse policy: allow duplicate workflow Id if last run failed."
            ),
        }
    }
}

/// Why a command wasn't taken. Nothing changed, except where it says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No run of that workflow id, or not that run.
    #[error("workflow not found for ID: {0}")]
    RunNotFound(String),
    /// The run has closed.
    #[error("workflow execution already completed")]
    AlreadyClosed,
    /// Another run has the workflow id, and the policies don't let this one in.
    #[error("{}", .taken.message(.workflow_id, .run_id))]
    AlreadyStarted {
        /// The id.
        workflow_id: String,
        /// The run that has it.
        run_id: String,
        /// Of the request that started it.
        start_request_id: String,
        /// The first run of its chain.
        first_run_id: String,
        /// Why that run keeps it.
        taken: Taken,
    },
    /// The task was finished, timed out or started elsewhere.
    #[error("{0}")]
    TaskNotFound(String),
    /// The request makes no sense, whatever the state.
    #[error("{0}")]
    InvalidArgument(String),
    /// Events came that the workflow hasn't seen: it must look at them before it closes. The workflow task
    /// failed and another one comes.
    #[error("UnhandledCommand")]
    UnhandledCommand,
    /// Not in this state.
    #[error("{0}")]
    FailedPrecondition(String),
    /// The workflow can't be reached, because its workflow task fails.
    #[error("{0}")]
    NotReady(String),
    /// The run closed before the workflow accepted the update.
    #[error("workflow update was aborted by closing workflow")]
    UpdateAborted,
    /// The run closed before the workflow accepted the update, and another one took its place, which can be asked.
    #[error("workflow operation can not be applied because workflow is closing")]
    UpdateOvertaken,
    /// A limit is reached.
    #[error("{0}")]
    LimitExceeded(String),
    /// Not now: it can be asked again in a moment.
    #[error("{0}")]
    Busy(String),
    /// Nothing by that name.
    #[error("{0}")]
    NotFound(String),
}
