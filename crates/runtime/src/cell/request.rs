//! Requests to a cell, responses, and releases.

use std::sync::Arc;

use perennial_engine::run::{Answer, Command, ResetRun, StartRun, TaskStamp};
use perennial_engine::schedule::{self, CreateSchedule, Schedule};
use perennial_engine::{EntityId, EntityKey, EntityRef, NamespaceKey, Slot};
use perennial_proto::store::{EntityMessage, RunName, ScheduleName, WaitingTask};
use perennial_proto::temporal::command::v1 as command;
use perennial_proto::temporal::common::v1::Principal;
use perennial_proto::temporal::enums::v1::{
    QueryRejectCondition, UpdateWorkflowExecutionLifecycleStage,
};
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::query::v1::{WorkflowQuery, WorkflowQueryResult};
use perennial_proto::temporal::update::v1 as update;
use perennial_store::RecordWrite;
use perennial_telemetry::{AfterTurn, CellTimes};
use tokio::sync::oneshot;

use super::messages::{slot_of_receiver, slot_of_sender};
use super::verdicts::Verdicts;
use crate::api::{CompletionPage, QueryOutcome, Refusal, Sent, Started, UpdateStatus, Watched};
use crate::memory_limits::Admitted;
use crate::queues::{Grant, QueryTask, WaitingPoll};

/// Where an answer goes.
pub(crate) enum ReplyTo {
    /// A caller, which may have disconnected. The request's memory is reserved until the answer. Times are recorded if
    /// the call is traced.
    Caller(oneshot::Sender<Result<Response, Refusal>>, Admitted, Option<Arc<CellTimes>>),
    /// A callback.
    Then(Box<dyn FnOnce(Result<Response, Refusal>) + Send>),
    /// The sender of this message, in the same cell. The answer is part of the same batch.
    Sender(Arc<EntityMessage>),
    Nobody,
}

impl ReplyTo {
    pub(crate) fn send(self, response: Result<Response, Refusal>) {
        match self {
            // A disconnected caller needs no answer.
            Self::Caller(caller, admitted, times) => {
                if let Some(times) = times {
                    times.answered();
                }
                drop(caller.send(response));
                drop(admitted);
            }
            Self::Then(then) => then(response),
            // The cell has ended. If the message is durable, it is read from the store again.
            Self::Sender(_) | Self::Nobody => {}
        }
    }

    /// Where the times of the request are recorded, if its call is traced.
    pub(crate) fn times(&self) -> Option<&Arc<CellTimes>> {
        match self {
            Self::Caller(_, _, times) => times.as_ref(),
            Self::Then(_) | Self::Sender(_) | Self::Nobody => None,
        }
    }

    /// Whether the receiver of the answer has gone.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Caller(caller, ..) => caller.is_closed(),
            Self::Then(_) | Self::Sender(_) => false,
            Self::Nobody => true,
        }
    }
}

/// A request and where its answer goes.
pub(crate) struct Incoming {
    pub(crate) request: Request,
    pub(crate) reply: ReplyTo,
    /// Who makes the request, as proved by credentials.
    pub(crate) principal: Option<Arc<Principal>>,
}

impl Incoming {
    /// A request of the node itself, or of another entity.
    pub(crate) fn internal(request: Request, reply: ReplyTo) -> Self {
        Self { request, reply, principal: None }
    }
}

/// A request to a cell, by handler.
pub(crate) enum Request {
    /// To a workflow id, whether or not it has a run.
    Workflow { id: EntityId, ask: WorkflowRequest },
    /// To a run; an empty run id means the current one.
    Run { target: RunName, ask: RunRequest },
    /// A poller was matched with a task or a query.
    Dispatch(Dispatch),
    /// To a schedule.
    Schedule { target: ScheduleName, ask: ScheduleRequest },
    /// The stored wake-up time of an entity has come.
    Wake { key: EntityKey, entity: EntityRef },
    /// A message from another entity.
    Deliver { message: Arc<EntityMessage> },
    /// The receiver's answer to a message that an entity here has sent.
    TakeAnswer { message: Arc<EntityMessage>, answer: Answer },
    /// A record that the owner of a slot writes.
    PutRecord { slot: Slot, record: RecordWrite },
}

/// A request to a workflow id.
pub(crate) enum WorkflowRequest {
    Start(Box<StartRun>),
    StartWithUpdate {
        start: Box<StartRun>,
        update: Box<update::Request>,
        wait: UpdateWorkflowExecutionLifecycleStage,
    },
}

/// A request to an existing run.
pub(crate) enum RunRequest {
    Command(Command),
    /// A page of a completion, but not the last one.
    KeepPage(Box<CompletionPage>),
    /// The last page of a completion has arrived. `count` pages precede it.
    TakePages {
        task: TaskStamp,
        count: usize,
    },
    Read,
    Watch {
        event_id: i64,
    },
    Delete,
    /// The target is the run whose history is used.
    Reset(Box<ResetFrom>),
    Query {
        query: WorkflowQuery,
        reject: QueryRejectCondition,
    },
    AnswerQuery {
        query_id: String,
        result: WorkflowQueryResult,
    },
    Update {
        request: Box<update::Request>,
        wait: UpdateWorkflowExecutionLifecycleStage,
    },
    PollUpdate {
        update_id: String,
        wait: UpdateWorkflowExecutionLifecycleStage,
    },
}

/// A task or query, and the poller it was matched with.
pub(crate) enum Dispatch {
    Task(WaitingTask, WaitingPoll),
    Query(QueryTask, WaitingPoll),
}

/// A request to a schedule.
pub(crate) enum ScheduleRequest {
    Create(Box<CreateSchedule>),
    Command(schedule::Command),
    Read,
    /// Delete all rows of the schedule.
    Purge,
}

impl Request {
    /// The target entity; `None` for a record.
    pub(crate) fn entity(&self) -> Option<EntityRef> {
        match self {
            Self::Workflow { id, .. } => Some(EntityRef::current(id.clone())),
            Self::Run { target, .. } => Some(run_ref(target)),
            Self::Dispatch(Dispatch::Task(task, _)) => task.run.as_ref().map(run_ref),
            Self::Dispatch(Dispatch::Query(task, _)) => Some(run_ref(&task.run)),
            Self::Schedule { target, .. } => {
                let ScheduleName { namespace, schedule_id, .. } = target;
                let id = EntityId::schedule(NamespaceKey(*namespace), schedule_id.as_str());
                Some(EntityRef::current(id))
            }
            Self::Wake { entity, .. } => Some(entity.clone()),
            Self::Deliver { message } => message.target.as_ref().map(EntityRef::of),
            Self::TakeAnswer { message, .. } => message.sender.as_ref().map(EntityRef::of),
            Self::PutRecord { .. } => None,
        }
    }

    /// The slot whose owner handles the request.
    pub(crate) fn slot(&self) -> Slot {
        match self {
            Self::Workflow { id, .. } => id.slot(),
            Self::Run { target, .. } => slot_of_run(target),
            Self::Dispatch(Dispatch::Task(task, _)) => {
                task.run.as_ref().map_or(Slot::CLUSTER, slot_of_run)
            }
            Self::Dispatch(Dispatch::Query(task, _)) => slot_of_run(&task.run),
            Self::Schedule { target, .. } => {
                Slot::of(NamespaceKey(target.namespace), &target.schedule_id)
            }
            Self::Wake { entity, .. } => entity.id.slot(),
            Self::Deliver { message } => slot_of_receiver(message),
            Self::TakeAnswer { message, .. } => slot_of_sender(message),
            Self::PutRecord { slot, .. } => *slot,
        }
    }

    /// Its kind and its target, for the log.
    pub(crate) fn describe(&self) -> String {
        let about = self
            .entity()
            .map_or_else(|| "a record".to_owned(), |EntityRef { id, .. }| id.to_string());
        format!("{} {about}", self.kind())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Workflow { ask: WorkflowRequest::Start(_), .. } => "start of",
            Self::Workflow { ask: WorkflowRequest::StartWithUpdate { .. }, .. } => {
                "start with an update of"
            }
            Self::Run { ask, .. } => match ask {
                RunRequest::Command(_) => "command to",
                RunRequest::KeepPage(_) | RunRequest::TakePages { .. } => {
                    "pages of a completion of"
                }
                RunRequest::Read => "read of",
                RunRequest::Watch { .. } => "wait for",
                RunRequest::Delete => "deletion of",
                RunRequest::Reset(_) => "reset of",
                RunRequest::Query { .. } | RunRequest::AnswerQuery { .. } => "query of",
                RunRequest::Update { .. } | RunRequest::PollUpdate { .. } => "update of",
            },
            Self::Dispatch(Dispatch::Task(..)) => "task of",
            Self::Dispatch(Dispatch::Query(..)) => "query of",
            Self::Schedule { ask, .. } => match ask {
                ScheduleRequest::Create(_) => "creation of",
                ScheduleRequest::Command(_) => "command to",
                ScheduleRequest::Read => "read of",
                ScheduleRequest::Purge => "deletion of",
            },
            Self::Wake { .. } => "wake-up of",
            Self::Deliver { .. } => "message to",
            Self::TakeAnswer { .. } => "answer to a message of",
            Self::PutRecord { .. } => "write of",
        }
    }

    /// What follows the cell's turn before the request is answered.
    pub(crate) fn after_turn(&self) -> AfterTurn {
        match self {
            Self::Run { ask, .. } => match ask {
                RunRequest::Read
                | RunRequest::KeepPage(_)
                | RunRequest::TakePages { .. }
                | RunRequest::AnswerQuery { .. } => AfterTurn::Answer,
                RunRequest::Watch { .. }
                | RunRequest::Query { .. }
                | RunRequest::Update { .. }
                | RunRequest::PollUpdate { .. } => AfterTurn::Wait,
                RunRequest::Command(_) | RunRequest::Delete | RunRequest::Reset(_) => {
                    AfterTurn::Commit
                }
            },
            Self::Schedule { ask: ScheduleRequest::Read, .. } => AfterTurn::Answer,
            Self::Workflow { ask: WorkflowRequest::StartWithUpdate { .. }, .. } => AfterTurn::Wait,
            Self::Workflow { ask: WorkflowRequest::Start(_), .. }
            | Self::Dispatch(_)
            | Self::Schedule { .. }
            | Self::Wake { .. }
            | Self::Deliver { .. }
            | Self::TakeAnswer { .. }
            | Self::PutRecord { .. } => AfterTurn::Commit,
        }
    }

    /// Whether the request causes no write.
    pub(crate) fn is_read(&self) -> bool {
        match self {
            Self::Run { ask, .. } => match ask {
                RunRequest::Read
                | RunRequest::Watch { .. }
                | RunRequest::PollUpdate { .. }
                | RunRequest::Query { .. }
                | RunRequest::AnswerQuery { .. } => true,
                RunRequest::Command(_)
                | RunRequest::KeepPage(_)
                | RunRequest::TakePages { .. }
                | RunRequest::Delete
                | RunRequest::Reset(_)
                | RunRequest::Update { .. } => false,
            },
            Self::Schedule { ask: ScheduleRequest::Read, .. }
            | Self::Dispatch(Dispatch::Query(..)) => true,
            Self::Workflow { .. }
            | Self::Dispatch(Dispatch::Task(..))
            | Self::Schedule { .. }
            | Self::Wake { .. }
            | Self::Deliver { .. }
            | Self::TakeAnswer { .. }
            | Self::PutRecord { .. } => false,
        }
    }
}

fn run_ref(target: &RunName) -> EntityRef {
    EntityRef::run(NamespaceKey(target.namespace), &target.workflow_id, &target.run_id)
}

fn slot_of_run(target: &RunName) -> Slot {
    Slot::of(NamespaceKey(target.namespace), &target.workflow_id)
}

/// A reset, with the history it starts from.
pub(crate) struct ResetFrom {
    pub(crate) request: ResetRun,
    /// Events of the run before the point.
    pub(crate) kept: Vec<HistoryEvent>,
    /// Events of the run, and of those that followed it, after the point.
    pub(crate) later: Vec<HistoryEvent>,
    /// Next event id of the run when its history was read.
    pub(crate) next_event_id: i64,
}

/// The answer to a request.
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

/// Output of a cell that is sent once its cause is durable.
pub(crate) enum Release {
    Reply(ReplyTo, Box<Result<Response, Refusal>>),
    /// A started task for its poller.
    Grant(WaitingPoll, Grant),
    /// A task to add to its queue, stored or not.
    Offer {
        task: WaitingTask,
        is_stored: bool,
    },
    /// A query to add to its queue.
    OfferQuery(QueryTask),
    /// A poller whose match came to nothing: it waits again.
    Repoll(WaitingPoll),
    /// A message for another entity.
    Deliver(Arc<EntityMessage>),
    /// Verdicts on times of a schedule, to be counted.
    Count(Box<Verdicts>),
    /// A run that has closed, to be recorded in its trace.
    Trace(Arc<perennial_engine::run::Run>),
}
