//! What is asked of a cell, and what leaves it.

use std::sync::Arc;

use perennial_engine::run::{Answer, Command, ResetRun, StartRun, TaskStamp};
use perennial_engine::schedule::{self, CreateSchedule, Schedule};
use perennial_engine::{NamespaceKey, Slot};
use perennial_proto::store::{RunMessage, RunName, ScheduleName, WaitingTask};
use perennial_proto::temporal::command::v1 as command;
use perennial_proto::temporal::enums::v1::{
    QueryRejectCondition, UpdateWorkflowExecutionLifecycleStage,
};
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::query::v1::{WorkflowQuery, WorkflowQueryResult};
use perennial_proto::temporal::update::v1 as update;
use perennial_store::RecordWrite;
use tokio::sync::oneshot;

use crate::api::{CompletionPage, QueryOutcome, Refusal, Sent, Started, UpdateStatus, Watched};
use crate::memory::Admitted;
use crate::queues::{Grant, Poller, QueryTask};

/// Where an answer goes.
pub(crate) enum ReplyTo {
    /// To a caller, who may have gone. The request keeps its place in memory until then.
    Caller(oneshot::Sender<Result<Response, Refusal>>, Admitted),
    /// To what comes next.
    Then(Box<dyn FnOnce(Result<Response, Refusal>) + Send>),
    /// To the sender of this message, who is in the same cell and hears of it in the same batch.
    Sender(Arc<RunMessage>),
    Nobody,
}

impl ReplyTo {
    pub(crate) fn send(self, response: Result<Response, Refusal>) {
        match self {
            // A caller that has gone needs no answer.
            Self::Caller(caller, admitted) => {
                drop(caller.send(response));
                drop(admitted);
            }
            Self::Then(then) => then(response),
            // The cell is over: what is durable of the message is read from the store again.
            Self::Sender(_) | Self::Nobody => {}
        }
    }

    /// Whether nobody waits for it any more.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Caller(caller, _) => caller.is_closed(),
            Self::Then(_) | Self::Sender(_) => false,
            Self::Nobody => true,
        }
    }
}

/// A request and where its answer goes.
pub(crate) struct Incoming {
    pub(crate) request: Request,
    pub(crate) reply: ReplyTo,
}

/// Something asked of one workflow id, or of one schedule id.
pub(crate) enum Request {
    Start {
        namespace: NamespaceKey,
        workflow_id: String,
        start: Box<StartRun>,
    },
    StartWithUpdate {
        namespace: NamespaceKey,
        workflow_id: String,
        start: Box<StartRun>,
        request: Box<update::Request>,
        wait: UpdateWorkflowExecutionLifecycleStage,
    },
    Command {
        target: RunName,
        command: Command,
    },
    /// A page of a completion that isn't the last.
    KeepPage {
        target: RunName,
        page: Box<CompletionPage>,
    },
    /// The last page of a completion has come: so many stand before it.
    TakePages {
        target: RunName,
        task: TaskStamp,
        count: usize,
    },
    Read {
        target: RunName,
    },
    Watch {
        target: RunName,
        event_id: i64,
    },
    Delete {
        target: RunName,
    },
    /// The target names the run whose history is used.
    Reset {
        target: RunName,
        reset: Box<ResetFrom>,
    },
    /// A poller and a task that waited have met.
    StartTask {
        task: WaitingTask,
        poller: Poller,
    },
    /// A poller and a query have met.
    TakeQuery {
        task: QueryTask,
        poller: Poller,
    },
    /// A message from another run.
    Deliver {
        message: Arc<RunMessage>,
    },
    /// What became of a message that a run here sent.
    Settle {
        message: Arc<RunMessage>,
        answer: Answer,
    },
    /// A single record is written.
    Put {
        record: RecordWrite,
    },
    Query {
        target: RunName,
        query: WorkflowQuery,
        reject: QueryRejectCondition,
    },
    AnswerQuery {
        target: RunName,
        query_id: String,
        result: WorkflowQueryResult,
    },
    Update {
        target: RunName,
        request: Box<update::Request>,
        wait: UpdateWorkflowExecutionLifecycleStage,
    },
    PollUpdate {
        target: RunName,
        update_id: String,
        wait: UpdateWorkflowExecutionLifecycleStage,
    },
    CreateSchedule {
        target: ScheduleName,
        create: Box<CreateSchedule>,
    },
    Schedule {
        target: ScheduleName,
        command: schedule::Command,
    },
    ReadSchedule {
        target: ScheduleName,
    },
    /// All rows of a schedule go.
    PurgeSchedule {
        target: ScheduleName,
    },
}

impl Request {
    /// Whom it is about; the run id is empty for the current run. `None` if it is about no workflow.
    pub(crate) fn target(&self) -> Option<RunName> {
        let current = |namespace: &NamespaceKey, workflow_id: &String| RunName {
            namespace: namespace.0,
            workflow_id: workflow_id.clone(),
            ..RunName::default()
        };
        match self {
            Self::Start { namespace, workflow_id, .. }
            | Self::StartWithUpdate { namespace, workflow_id, .. } => {
                Some(current(namespace, workflow_id))
            }
            Self::Command { target, .. }
            | Self::KeepPage { target, .. }
            | Self::TakePages { target, .. }
            | Self::Read { target }
            | Self::Watch { target, .. }
            | Self::Delete { target }
            | Self::Reset { target, .. }
            | Self::Query { target, .. }
            | Self::AnswerQuery { target, .. }
            | Self::Update { target, .. }
            | Self::PollUpdate { target, .. } => Some(target.clone()),
            Self::StartTask { task, .. } => task.run.clone(),
            Self::TakeQuery { task, .. } => Some(task.run.clone()),
            Self::Deliver { message } => message.target.clone(),
            Self::Settle { message, .. } => message.sender.clone(),
            Self::Put { .. }
            | Self::CreateSchedule { .. }
            | Self::Schedule { .. }
            | Self::ReadSchedule { .. }
            | Self::PurgeSchedule { .. } => None,
        }
    }

    /// The schedule it is about, if it is about one.
    pub(crate) fn schedule(&self) -> Option<&ScheduleName> {
        match self {
            Self::CreateSchedule { target, .. }
            | Self::Schedule { target, .. }
            | Self::ReadSchedule { target }
            | Self::PurgeSchedule { target } => Some(target),
            Self::Deliver { message } => message.to_schedule.as_ref(),
            Self::Settle { message, .. } => message.from_schedule.as_ref(),
            Self::Start { .. }
            | Self::StartWithUpdate { .. }
            | Self::Command { .. }
            | Self::KeepPage { .. }
            | Self::TakePages { .. }
            | Self::Read { .. }
            | Self::Watch { .. }
            | Self::Delete { .. }
            | Self::Reset { .. }
            | Self::StartTask { .. }
            | Self::TakeQuery { .. }
            | Self::Put { .. }
            | Self::Query { .. }
            | Self::AnswerQuery { .. }
            | Self::Update { .. }
            | Self::PollUpdate { .. } => None,
        }
    }

    /// Its kind and what it is about, for the log.
    pub(crate) fn describe(&self) -> String {
        let about = match (self.schedule(), self.target()) {
            (Some(schedule), _) => format!("schedule {:?}", schedule.schedule_id),
            (None, Some(run)) => format!("workflow {:?}", run.workflow_id),
            (None, None) => "a record".to_owned(),
        };
        format!("{} {about}", self.kind())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start of",
            Self::StartWithUpdate { .. } => "start with an update of",
            Self::Command { .. } | Self::Schedule { .. } => "command to",
            Self::KeepPage { .. } | Self::TakePages { .. } => "pages of a completion of",
            Self::Read { .. } | Self::ReadSchedule { .. } => "read of",
            Self::Watch { .. } => "wait for",
            Self::Delete { .. } | Self::PurgeSchedule { .. } => "deletion of",
            Self::Reset { .. } => "reset of",
            Self::StartTask { .. } => "task of",
            Self::TakeQuery { .. } | Self::Query { .. } | Self::AnswerQuery { .. } => "query of",
            Self::Deliver { .. } => "message to",
            Self::Settle { .. } => "answer to a message of",
            Self::Put { .. } => "write of",
            Self::Update { .. } | Self::PollUpdate { .. } => "update of",
            Self::CreateSchedule { .. } => "creation of",
        }
    }

    /// Whether nothing is stored because of it.
    pub(crate) fn is_read(&self) -> bool {
        match self {
            Self::Read { .. }
            | Self::Watch { .. }
            | Self::ReadSchedule { .. }
            | Self::PollUpdate { .. }
            | Self::Query { .. }
            | Self::AnswerQuery { .. }
            | Self::TakeQuery { .. } => true,
            Self::Start { .. }
            | Self::StartWithUpdate { .. }
            | Self::Command { .. }
            | Self::KeepPage { .. }
            | Self::TakePages { .. }
            | Self::Delete { .. }
            | Self::Reset { .. }
            | Self::StartTask { .. }
            | Self::Deliver { .. }
            | Self::Settle { .. }
            | Self::Put { .. }
            | Self::Update { .. }
            | Self::CreateSchedule { .. }
            | Self::Schedule { .. }
            | Self::PurgeSchedule { .. } => false,
        }
    }

    /// The slot that owns it; the first one for what is about no workflow and no schedule.
    pub(crate) fn slot(&self) -> Slot {
        if let Some(schedule) = self.schedule() {
            return Slot::of(NamespaceKey(schedule.namespace), &schedule.schedule_id);
        }
        self.target()
            .map_or(Slot(0), |target| Slot::of(NamespaceKey(target.namespace), &target.workflow_id))
    }
}

/// A reset, with the history it is made from.
pub(crate) struct ResetFrom {
    pub(crate) request: ResetRun,
    /// Events of the run before the point.
    pub(crate) kept: Vec<HistoryEvent>,
    /// Events of the run, and of those that followed it, after the point.
    pub(crate) later: Vec<HistoryEvent>,
    /// As it was when its history was read.
    pub(crate) next_event_id: i64,
}

/// An answer.
#[derive(Debug)]
pub(crate) enum Response {
    Done,
    Started(Box<Started>),
    StartedWithUpdate(Box<Started>, Result<UpdateStatus, Refusal>),
    Sent(Box<Sent>),
    Pages(Vec<command::Command>),
    Run(Arc<perennial_engine::run::Run>),
    Watched(Watched),
    Answer(Answer),
    /// The run id of the new run.
    Reset(String),
    Query(QueryOutcome),
    Update(UpdateStatus),
    Schedule(Arc<Schedule>, schedule::Reply),
}

/// Something that leaves a cell, once what it follows from is durable.
pub(crate) enum Release {
    Reply(ReplyTo, Box<Result<Response, Refusal>>),
    /// A task goes to the poller that was claimed for it.
    Grant(Poller, Grant),
    /// A task waits for a poller, with a row in the store or without.
    Offer {
        task: WaitingTask,
        is_stored: bool,
    },
    /// A query waits for a poller.
    OfferQuery(QueryTask),
    /// The poller got nothing after all: it goes on waiting.
    Repoll(Poller),
    /// A message for another run.
    Deliver(Arc<RunMessage>),
}
