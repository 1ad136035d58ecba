//! Requests of one node to entities of another: deliveries of messages, and steps of background work.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use perennial_engine::run::{Answer, Rejection};
use perennial_engine::schedule::Command;
use perennial_engine::{NamespaceKey, Slot};
use perennial_peer::CallError;
use perennial_proto::node::entity_request::Request as Body;
use perennial_proto::node::entity_response::Response as ResponseBody;
use perennial_proto::node::{
    self, AnswerKind, BatchOperation, Delivery, Done, EntityRequest, EntityResponse, RefusalKind,
};
use perennial_proto::store::{BatchJob, EntityMessage, RunName, ScheduleName};
use tokio::sync::oneshot;

use super::{Cluster, Owner};
use crate::cell::{Incoming, ReplyTo, Request, Response, slot_of_receiver};
use crate::node::Node;
use crate::{Refusal, Runtime, batch_jobs, unexpected};

/// A request to an entity, from a node that doesn't own it.
pub const ENTITY_REQUEST: &str = "/perennial.node.v1.Node/EntityRequest";

/// A delivery that took longer is refused: the effect of an earlier one may have been deleted since.
const DELIVERY_AGE_MAX: Duration = Duration::from_secs(5);

/// How long a request waits for the owner of a slot to become known.
const OWNER_WAIT_MAX: Duration = Duration::from_secs(2);

impl Cluster {
    /// Delivers a message to an entity of another node, and sends its answer to `reply`.
    pub(crate) fn deliver(
        self: &Arc<Self>,
        node: &Node,
        message: &Arc<EntityMessage>,
        reply: ReplyTo,
    ) {
        let Ok(permit) = Arc::clone(&self.deliveries).try_acquire_owned() else {
            let why = "too many messages are on their way to other nodes".to_owned();
            return reply.send(Err(Refusal::Unavailable(why)));
        };
        let slot = slot_of_receiver(message);
        let sent_at = self.database_time(node.now()).0;
        let delivery = Delivery { message: Some(EntityMessage::clone(message)), sent_at };
        let cluster = Arc::clone(self);
        self.tasks.spawn(async move {
            let answer = cluster.ask(slot, Body::Deliver(delivery)).await;
            drop(permit);
            reply.send(match answer {
                Ok(ResponseBody::Answer(answer)) => Ok(Response::Answer(answer_of(answer))),
                Ok(_) => {
                    Err(Refusal::Unavailable("the other node answered something else".to_owned()))
                }
                Err(refusal) => Err(refusal),
            });
        });
    }

    /// Asks the owner of a slot, once.
    async fn ask(&self, slot: Slot, request: Body) -> Result<ResponseBody, Refusal> {
        let Owner::Node(address) = self.owner_of(slot) else { return Err(Refusal::Moved) };
        let request = EntityRequest { request: Some(request) };
        let response: EntityResponse =
            self.send(&address, ENTITY_REQUEST, &request).await.map_err(|error| match error {
                CallError::NotDelivered(_) => Refusal::Moved,
                CallError::TooLarge(why) | CallError::Lost(why) => Refusal::Unavailable(why),
            })?;
        match response.response {
            Some(ResponseBody::Refusal(refusal)) => Err(refusal_of(refusal)),
            Some(response) => Ok(response),
            None => Err(Refusal::Unavailable(format!("the node at {address} answered nothing"))),
        }
    }
}

impl Runtime {
    /// Asks the node that owns a slot to do something that this node can't do itself. Waits for a while if the
    /// owner just changes.
    pub(crate) async fn ask_owner(&self, slot: Slot, request: Body) -> Result<(), Refusal> {
        let Some(cluster) = &self.node.cluster else {
            return serve(self, request).await.map(|_| ());
        };
        let deadline = tokio::time::Instant::now() + OWNER_WAIT_MAX;
        loop {
            let asked = if self.node.owns(slot) {
                serve(self, request.clone()).await
            } else {
                cluster.ask(slot, request.clone()).await
            };
            match asked {
                Err(Refusal::Moved) if tokio::time::Instant::now() < deadline => {
                    // The owner may change without news: ask again soon.
                    let _ =
                        tokio::time::timeout(Duration::from_millis(100), cluster.changed()).await;
                }
                Err(Refusal::Moved) => {
                    return Err(Refusal::Unavailable("no node owns the entity".to_owned()));
                }
                answer => return answer.map(|_| ()),
            }
        }
    }

    /// Deletes a run, wherever it is.
    pub(crate) async fn delete_anywhere(&self, run: RunName) -> Result<(), Refusal> {
        let slot = Slot::of(NamespaceKey(run.namespace), &run.workflow_id);
        self.ask_owner(slot, Body::DeleteRun(run)).await
    }

    /// Deletes all rows of a schedule, wherever it is.
    pub(crate) async fn purge_schedule_anywhere(
        &self,
        schedule: ScheduleName,
    ) -> Result<(), Refusal> {
        let slot = Slot::of(NamespaceKey(schedule.namespace), &schedule.schedule_id);
        self.ask_owner(slot, Body::PurgeSchedule(schedule)).await
    }

    /// Wakes a schedule, wherever it is.
    pub(crate) async fn wake_schedule_anywhere(
        &self,
        schedule: ScheduleName,
    ) -> Result<(), Refusal> {
        let slot = Slot::of(NamespaceKey(schedule.namespace), &schedule.schedule_id);
        self.ask_owner(slot, Body::WakeSchedule(schedule)).await
    }

    /// Notes that background work begins. `None` if it is under way already.
    pub(crate) fn begin_work(&self, name: String) -> Option<WorkUnderWay> {
        let under_way = Arc::clone(&self.under_way);
        let begun = under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        begun.then_some(WorkUnderWay { name, under_way })
    }

    /// Applies a batch job's operation to a run, wherever it is.
    pub(crate) async fn operate_anywhere(
        &self,
        job: &BatchJob,
        run: RunName,
    ) -> Result<(), Refusal> {
        let slot = Slot::of(NamespaceKey(run.namespace), &run.workflow_id);
        if self.node.owns(slot) {
            return batch_jobs::operate(self, job, run).await;
        }
        // Only what an operation needs: the job's list of runs may be long.
        let job = BatchJob { executions: Vec::new(), page: Vec::new(), ..job.clone() };
        self.ask_owner(slot, Body::Operate(BatchOperation { job: Some(job), run: Some(run) })).await
    }
}

/// Background work in progress, until it is dropped.
pub(crate) struct WorkUnderWay {
    name: String,
    under_way: Arc<Mutex<BTreeSet<String>>>,
}

impl Drop for WorkUnderWay {
    fn drop(&mut self) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// Answers a request of another node.
pub async fn serve_entity_request(runtime: &Runtime, request: EntityRequest) -> EntityResponse {
    let response = match request.request {
        Some(request) => serve(runtime, request).await,
        None => Err(Rejection::InvalidArgument("the request is empty".to_owned()).into()),
    };
    let response = response.unwrap_or_else(|refusal| ResponseBody::Refusal(refused(&refusal)));
    EntityResponse { response: Some(response) }
}

async fn serve(runtime: &Runtime, request: Body) -> Result<ResponseBody, Refusal> {
    let missing = || Rejection::InvalidArgument("the request names no entity".to_owned());
    let done = match request {
        Body::Deliver(delivery) => {
            return receive(runtime, delivery).await.map(|it| ResponseBody::Answer(encoded(it)));
        }
        Body::DeleteRun(run) => runtime.delete(run).await,
        Body::PurgeSchedule(schedule) => runtime.purge_schedule(schedule).await,
        Body::WakeSchedule(schedule) => {
            runtime.send_to_schedule(schedule, Command::Wake).await.map(|_| ())
        }
        Body::Operate(BatchOperation { job, run }) => {
            let (job, run) = (job.ok_or_else(missing)?, run.ok_or_else(missing)?);
            let runtime = runtime.called_by(job.principal.clone());
            batch_jobs::operate(&runtime, &job, run).await
        }
    };
    done.map(|()| ResponseBody::Done(Done {}))
}

/// Delivers a message of another node's entity to one of this node's.
async fn receive(runtime: &Runtime, delivery: Delivery) -> Result<Answer, Refusal> {
    let Some(message) = delivery.message else {
        return Err(Rejection::InvalidArgument("the delivery has no message".to_owned()).into());
    };
    if let Some(cluster) = &runtime.node.cluster {
        let age = cluster.database_time(runtime.now()).0.saturating_sub(delivery.sent_at);
        if age > i64::try_from(DELIVERY_AGE_MAX.as_nanos()).unwrap_or(i64::MAX) {
            return Err(Refusal::Unavailable("the delivery took too long".to_owned()));
        }
    }
    let (reply, answered) = oneshot::channel();
    let reply = ReplyTo::Then(Box::new(move |answer| {
        // The other node has given up otherwise, and delivers the message again.
        let _ = reply.send(answer);
    }));
    let message = Arc::new(message.with_addresses());
    runtime.node.ask(Incoming::internal(Request::Deliver { message }, reply));
    match answered.await.unwrap_or(Err(Refusal::Moved))? {
        Response::Answer(answer) => Ok(answer),
        other => Err(unexpected(&other)),
    }
}

fn encoded(answer: Answer) -> node::Answer {
    let (kind, run_id) = match answer {
        Answer::Taken => (AnswerKind::Taken, String::new()),
        Answer::Started(run_id) => (AnswerKind::Started, run_id),
        Answer::IdTaken => (AnswerKind::IdTaken, String::new()),
        Answer::NamespaceNotFound => (AnswerKind::NamespaceNotFound, String::new()),
        Answer::RunNotFound => (AnswerKind::RunNotFound, String::new()),
        Answer::TooManySignals => (AnswerKind::TooManySignals, String::new()),
    };
    node::Answer { kind: kind.into(), run_id }
}

fn answer_of(answer: node::Answer) -> Answer {
    match answer.kind() {
        AnswerKind::Taken | AnswerKind::Unspecified => Answer::Taken,
        AnswerKind::Started => Answer::Started(answer.run_id),
        AnswerKind::IdTaken => Answer::IdTaken,
        AnswerKind::NamespaceNotFound => Answer::NamespaceNotFound,
        AnswerKind::RunNotFound => Answer::RunNotFound,
        AnswerKind::TooManySignals => Answer::TooManySignals,
    }
}

fn refused(refusal: &Refusal) -> node::Refusal {
    let kind = match refusal {
        Refusal::Moved => RefusalKind::Moved,
        Refusal::Rejected(_) => RefusalKind::Rejected,
        Refusal::Damaged(_) => RefusalKind::Damaged,
        Refusal::Unavailable(_)
        | Refusal::Overloaded(_)
        | Refusal::Exhausted(_)
        | Refusal::PagesLost(_)
        | Refusal::TimedOut => RefusalKind::Unavailable,
    };
    node::Refusal { kind: kind.into(), message: refusal.to_string() }
}

fn refusal_of(refusal: node::Refusal) -> Refusal {
    match refusal.kind() {
        RefusalKind::Moved => Refusal::Moved,
        RefusalKind::Rejected => Rejection::FailedPrecondition(refusal.message).into(),
        RefusalKind::Damaged => Refusal::Damaged(refusal.message),
        RefusalKind::Unavailable | RefusalKind::Unspecified => {
            Refusal::Unavailable(refusal.message)
        }
    }
}
