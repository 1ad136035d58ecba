//! What is asked of a cell, and what leaves it.

use std::sync::Arc;

use perennial_engine::run::{Answer, Command, ResetRun, StartRun, TaskStamp};
use perennial_engine::schedule::{self, CreateSchedule, Schedule};
use perennial_engine::{EntityId, EntityKey, EntityRef, NamespaceKey, Slot};
use perennial_proto::store::{EntityMessage, RunName, ScheduleName, WaitingTask};
use perennial_proto::temporal::command::v1 as command;
use perennial_proto::temporal::enums::v1::{
    QueryRejectCondition, UpdateWorkflowExecutionLifecycleStage,
};
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::query::v1::{WorkflowQuery, WorkflowQueryResult};
use perennial_proto::temporal::update::v1 as update;
use perennial_store::RecordWrite;
use tokio::sync::oneshot;

use super::messages::{slot_of_receiver, slot_of_sender};
use crate::api::{CompletionPage, QueryOutcome, Refusal, Sent, Started, UpdateStatus, Watched};
use crate::memory::Admitted;
use crate::queues::{Grant, QueryTask, WaitingPoll};

/// Where an answer goes.
pub(crate) enum ReplyTo {
    /// To a caller, who may have gone. The request keeps its place in memory until then.
    Caller(oneshot::Sender<Result<Response, Refusal>>, Admitted),
    /// To what comes next.
    Then(Box<dyn FnOnce(Result<Response, Refusal>) + Send>),
    /// To the sender of this message, who is in the same cell and hears of it in the same batch.
    Sender(Arc<EntityMessage>),
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

/// Something asked of a cell, by who handles it.
pub(crate) enum Request {
    /// Asked of a workflow id, whether or not it has a run.
    Workflow { id: EntityId, ask: WorkflowRequest },
    /// Asked of a run; an empty run id stands for the current one.
    Run { target: RunName, ask: RunRequest },
    /// A poller and a task or a query have met.
    Dispatch(Dispatch),
    /// Asked of a schedule.
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

/// Asked of a workflow id.
pub(crate) enum WorkflowRequest {
    Start(Box<StartRun>),
    StartWithUpdate {
        start: Box<StartRun>,
        update: Box<update::Request>,
        wait: UpdateWorkflowExecutionLifecycleStage,
    },
}

/// Asked of a run that has to be there.
pub(crate) enum RunRequest {
    Command(Command),
    /// A page of a completion that isn't the last.
    KeepPage(Box<CompletionPage>),
    /// The last page of a completion has come: so many stand before it.
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

/// Something for a worker, and the poller that takes it.
pub(crate) enum Dispatch {
    Task(WaitingTask, WaitingPoll),
    Query(QueryTask, WaitingPoll),
}

/// Asked of a schedule.
pub(crate) enum ScheduleRequest {
    Create(Box<CreateSchedule>),
    Command(schedule::Command),
    Read,
    /// Delete all rows of the schedule.
    Purge,
}

impl Request {
    /// The entity it is about; `None` if it is about a record.
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

    /// The slot whose owner handles it.
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

    /// Its kind and the entity it is about, for the log.
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

    /// Whether nothing is stored because of it.
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
    Grant(WaitingPoll, Grant),
    /// A task waits for a poller, with a row in the store or without.
    Offer {
        task: WaitingTask,
        is_stored: bool,
    },
    /// A query waits for a poller.
    OfferQuery(QueryTask),
    /// The poller got nothing after all: it goes on waiting.
    Repoll(WaitingPoll),
    /// A message for another entity.
    Deliver(Arc<EntityMessage>),
}
