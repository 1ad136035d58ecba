//! Queries: attached to a run, never stored, answered by a worker.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_engine::run::{Rejection, Run};
use perennial_engine::{EntityKey, NamespaceKey};
use perennial_proto::temporal::enums::v1::{
    QueryRejectCondition, QueryResultType, WorkflowExecutionStatus,
};
use perennial_proto::temporal::query::v1::{WorkflowQuery, WorkflowQueryResult};

use super::request::{Release, ReplyTo, Response};
use super::{Cell, StepContext};
use crate::api::{Demand, QueryOutcome, Refusal, WorkflowTaskGrant};
use crate::queues::{Grant, QueryTask, QueueKind, QueueName, WaitingPoll};

/// Queries that may wait on one run, at most.
const WAITING_MAX: usize = 100;
/// Queries are refused when the workflow task has failed this often.
const FAILED_ATTEMPTS_MAX: i32 = 3;

#[derive(Default)]
pub(super) struct Queries {
    waiting: BTreeMap<String, Query>,
}

struct Query {
    query: WorkflowQuery,
    reply: ReplyTo,
    route: Route,
}

/// A query with the worker's answer.
pub(super) struct Answered {
    id: String,
    query: Query,
    result: WorkflowQueryResult,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    /// Waits for the current workflow task to end, or the next one to start.
    AwaitsTask,
    /// Sent to a worker with a workflow task.
    WithTask,
    /// Sent to a worker without a workflow task.
    Direct,
}

impl Queries {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Drops queries whose callers have disconnected.
    pub(super) fn forget_gone(&mut self) {
        self.waiting.retain(|_, query| !query.reply.is_gone());
    }

    /// The queries to send with a workflow task that starts now, including those sent with an earlier task that
    /// failed.
    pub(super) fn send_with_task(&mut self) -> BTreeMap<String, WorkflowQuery> {
        let mut sent = BTreeMap::new();
        for (id, query) in &mut self.waiting {
            if query.route != Route::Direct {
                query.route = Route::WithTask;
                sent.insert(id.clone(), query.query.clone());
            }
        }
        sent
    }

    /// The callers that wait for an answer.
    pub(super) fn into_callers(self) -> impl Iterator<Item = ReplyTo> {
        self.waiting.into_values().map(|query| query.reply)
    }

    /// Queries that wait for a task that won't come, or were sent with one that failed.
    fn take_stranded(&mut self) -> Vec<String> {
        let mut stranded = Vec::new();
        for (id, query) in &mut self.waiting {
            if query.route != Route::Direct {
                query.route = Route::Direct;
                stranded.push(id.clone());
            }
        }
        stranded
    }
}

impl Cell {
    pub(super) fn query(
        &mut self,
        key: EntityKey,
        query: WorkflowQuery,
        reject: QueryRejectCondition,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        let Some(run) = self.run(key) else { return };
        if is_rejected(&run, reject) {
            let outcome = QueryOutcome::Rejected(run.head.status());
            return self.answer(Some(key), reply, Ok(Response::Query(outcome)));
        }
        if let Err(why) = can_be_asked(&run) {
            return self.answer(Some(key), reply, Err(why.into()));
        }
        let id = self.rules.ids.next(world.now);
        let has_task = run.head.workflow_task.is_some();
        let Some(cached) = self.cache.run_mut(key) else { return };
        cached.queries.forget_gone();
        if cached.queries.waiting.len() >= WAITING_MAX {
            let why = "consistent query buffer is full, this may be caused by too many queries and workflow not able to process query fast enough";
            return self.answer(Some(key), reply, Err(Refusal::Overloaded(why.to_owned())));
        }
        let route = if has_task { Route::AwaitsTask } else { Route::Direct };
        cached.queries.waiting.insert(id.clone(), Query { query, reply, route });
        if route == Route::Direct {
            self.send_directly(&run, id, world);
        }
    }

    fn send_directly(&mut self, run: &Run, id: String, world: &StepContext<'_>) {
        let queue = |name: &str| QueueName {
            namespace: NamespaceKey(run.head.namespace),
            name: name.to_owned(),
            kind: QueueKind::Workflow,
        };
        let sticky = run.head.sticky.as_ref().filter(|_| run.is_open()).map(|to| queue(&to.name));
        let sticky = sticky.filter(|queue| world.queues.is_polled(queue, world.monotonic));
        let is_sticky = sticky.is_some();
        let task = QueryTask {
            queue: sticky.unwrap_or_else(|| queue(run.task_queue())),
            run: run.name(),
            query_id: id,
            is_sticky,
        };
        self.output.open.release(Release::OfferQuery(task));
    }

    /// Sends a query to the poller it was matched with.
    pub(super) fn take_query(
        &mut self,
        key: Option<EntityKey>,
        task: QueryTask,
        poller: WaitingPoll,
    ) {
        let grant = key.and_then(|key| {
            let cached = self.cache.run(key)?;
            let query = cached.queries.waiting.get(&task.query_id)?;
            Some(WorkflowTaskGrant {
                run: Arc::clone(&cached.run),
                query: Some((task.query_id.clone(), query.query.clone())),
                queries: BTreeMap::new(),
                messages: Vec::new(),
                sticky: task.is_sticky,
                demand: Demand::default(),
                recent: if task.is_sticky { Vec::new() } else { cached.recent_from(1) },
            })
        });
        self.output.open.release(match grant {
            Some(grant) => Release::Grant(poller, Grant::Workflow(Box::new(grant))),
            None => Release::Repoll(poller),
        });
    }

    /// A worker answers a query that was sent without a task.
    pub(super) fn answer_query(
        &mut self,
        key: EntityKey,
        id: String,
        result: WorkflowQueryResult,
        reply: ReplyTo,
    ) {
        let response = match self.take_answered(key, [(id, result)].into()).pop() {
            Some(answered) => {
                self.forward_answer(key, answered);
                Ok(Response::Done)
            }
            None => {
                let why = "query task not found, or already expired";
                Err(Rejection::TaskNotFound(why.to_owned()).into())
            }
        };
        self.answer(Some(key), reply, response);
    }

    /// The answered queries, without those whose callers have disconnected.
    pub(super) fn take_answered(
        &mut self,
        key: EntityKey,
        answers: BTreeMap<String, WorkflowQueryResult>,
    ) -> Vec<Answered> {
        let Some(cached) = self.cache.run_mut(key) else { return Vec::new() };
        let take = |(id, result)| {
            let query = cached.queries.waiting.remove(&id)?;
            Some(Answered { id, query, result })
        };
        answers.into_iter().filter_map(take).collect()
    }

    /// Forwards a worker's answer to the caller, when the state it saw is durable.
    pub(super) fn forward_answer(&mut self, key: EntityKey, answered: Answered) {
        let Answered { query, result, .. } = answered;
        let outcome = match result.result_type() {
            QueryResultType::Answered => QueryOutcome::Answered(result.answer),
            QueryResultType::Failed | QueryResultType::Unspecified => {
                QueryOutcome::Failed(result.error_message, result.failure)
            }
        };
        self.answer(Some(key), query.reply, Ok(Response::Query(outcome)));
    }

    /// The task completion was rejected, so its answers don't count: sends the queries again.
    pub(super) fn requeue_answers(
        &mut self,
        key: EntityKey,
        answered: Vec<Answered>,
        world: &StepContext<'_>,
    ) {
        let Some(cached) = self.cache.run_mut(key) else { return };
        cached.queries.waiting.extend(answered.into_iter().map(|it| (it.id, it.query)));
        self.send_stranded_queries(key, world);
    }

    /// Sends waiting queries without a task, if no workflow task is pending any more.
    pub(super) fn send_stranded_queries(&mut self, key: EntityKey, world: &StepContext<'_>) {
        let Some(cached) = self.cache.run_mut(key) else { return };
        if cached.queries.is_empty() || cached.run.head.workflow_task.is_some() {
            return;
        }
        let run = Arc::clone(&cached.run);
        for id in cached.queries.take_stranded() {
            match can_be_asked(&run) {
                Ok(()) => self.send_directly(&run, id, world),
                Err(why) => self.refuse_query(key, &id, why),
            }
        }
    }

    fn refuse_query(&mut self, key: EntityKey, id: &str, why: Rejection) {
        let waiting = self.cache.run_mut(key).and_then(|cached| cached.queries.waiting.remove(id));
        if let Some(query) = waiting {
            self.answer(Some(key), query.reply, Err(why.into()));
        }
    }
}

fn is_rejected(run: &Run, reject: QueryRejectCondition) -> bool {
    match reject {
        QueryRejectCondition::NotOpen => !run.is_open(),
        QueryRejectCondition::NotCompletedCleanly => {
            !run.is_open() && run.head.status() != WorkflowExecutionStatus::Completed
        }
        QueryRejectCondition::None | QueryRejectCondition::Unspecified => false,
    }
}

/// Only a run that a worker has seen, or will get a task of, can be queried.
fn can_be_asked(run: &Run) -> Result<(), Rejection> {
    let task = run.head.workflow_task.as_ref();
    if task.is_some_and(|task| task.attempt >= FAILED_ATTEMPTS_MAX) {
        return Err(Rejection::NotReady(
            "Unable to query workflow due to Workflow Task in failed state.".to_owned(),
        ));
    }
    if task.is_some() || run.head.previous_started_event_id != 0 {
        return Ok(());
    }
    let why = if run.is_open() {
        "workflow task is not scheduled yet: the workflow can't be queried"
    } else {
        "Workflow execution closed before WorkflowTaskStarted event"
    };
    Err(Rejection::FailedPrecondition(why.to_owned()))
}
