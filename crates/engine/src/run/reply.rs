//! Replies and rejections of a run.

/// The reply to a command that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The command took effect; there is nothing to report.
    Done,
    /// The task was started for the poller.
    TaskStarted,
    /// The workflow task was completed.
    WorkflowTaskCompleted(TaskCompleted),
    /// The reply to a heartbeat.
    Heartbeat(HeartbeatReply),
    /// The answer to another entity's message.
    Answered(super::Answer),
}

/// The contents of [`Reply::WorkflowTaskCompleted`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskCompleted {
    /// Activities that were started at once on the completing worker, by the ids of the events that scheduled them.
    pub eager_activities: Vec<i64>,
    /// Whether another workflow task was started on the same worker.
    pub new_task_started: bool,
    /// The worker must roll back to this event; 0 if it needn't.
    pub reset_history_event_id: i64,
    /// The progress of the updates that this completion answered.
    pub updates: Vec<(String, UpdateProgress)>,
}

/// The progress of an update.
#[derive(Debug, Clone, PartialEq)]
pub enum UpdateProgress {
    /// The workflow accepted the update; the history has the event.
    Accepted,
    /// The update has an outcome.
    Completed(perennial_proto::temporal::update::v1::Outcome),
    /// The workflow rejected the update, which leaves no event.
    Rejected(perennial_proto::temporal::failure::v1::Failure),
}

/// The contents of [`Reply::Heartbeat`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeartbeatReply {
    /// The workflow requested the activity's cancellation.
    pub cancel_requested: bool,
    /// An operator paused the activity.
    pub paused: bool,
    /// An operator reset the activity.
    pub reset: bool,
}

/// The reason why a workflow id isn't free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The run is open.
    Running,
    /// The run has closed, and the policy allows no further run.
    Finished,
    /// The run completed, and the policy allows another run only after a failure.
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

/// The reason why a command was rejected. Nothing changed, unless the variant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The workflow id has no run, or not the one asked for.
    #[error("workflow not found for ID: {0}")]
    RunNotFound(String),
    /// The run has closed.
    #[error("workflow execution already completed")]
    AlreadyClosed,
    /// Another run has the workflow id, and the policies don't allow a new one.
    #[error("{}", .taken.message(.workflow_id, .run_id))]
    AlreadyStarted {
        /// The workflow id.
        workflow_id: String,
        /// The run that has the workflow id.
        run_id: String,
        /// The id of the request that started that run.
        start_request_id: String,
        /// The first run of that run's chain.
        first_run_id: String,
        /// The reason why the id isn't free.
        taken: Taken,
    },
    /// The task was completed, timed out, or started elsewhere.
    #[error("{0}")]
    TaskNotFound(String),
    /// The request is invalid in any state.
    #[error("{0}")]
    InvalidArgument(String),
    /// The workflow hasn't seen some events, and has to before it closes. The workflow task failed and another one is
    /// scheduled.
    #[error("UnhandledCommand")]
    UnhandledCommand,
    /// The request is invalid in the present state.
    #[error("{0}")]
    FailedPrecondition(String),
    /// The workflow can't be reached, because its workflow task keeps failing.
    #[error("{0}")]
    NotReady(String),
    /// The run closed before the workflow accepted the update.
    #[error("workflow update was aborted by closing workflow")]
    UpdateAborted,
    /// The run closed before the workflow accepted the update. Another run took its place; the caller may retry there.
    #[error("workflow operation can not be applied because workflow is closing")]
    UpdateOvertaken,
    /// A limit is reached.
    #[error("{0}")]
    LimitExceeded(String),
    /// The command can't be carried out now; the caller may retry shortly.
    #[error("{0}")]
    Busy(String),
    /// The named object doesn't exist.
    #[error("{0}")]
    NotFound(String),
}
