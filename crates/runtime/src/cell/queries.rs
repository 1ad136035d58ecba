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
use super::{Cell, World};
use crate::api::{Demand, QueryOutcome, Refusal, WorkflowTaskGrant};
use crate::queues::{Grant, QueryTask, QueueKind, QueueName, WaitingPoll};

/// Queries that may wait on one run.
const WAITING_MAX: usize = 100;
/// A workflow task that failed this often won't answer a query either.
const HOPELESS_ATTEMPT: i32 = 3;

#[derive(Default)]
pub(super) struct Queries {
    waiting: BTreeMap<String, Query>,
}

struct Query {
    query: WorkflowQuery,
    reply: ReplyTo,
    way: Way,
}

/// A query with what a worker answered.
pub(super) struct Answered {
    id: String,
    query: Query,
    result: WorkflowQueryResult,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// For the workflow task in hand to end, or the next one to start.
    Waits,
    /// It is with a worker, beside a workflow task.
    WithTask,
    /// It goes to a worker by itself.
    ByItself,
}

impl Queries {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Drops those whose callers have gone.
    pub(super) fn forget_gone(&mut self) {
        self.waiting.retain(|_, query| !query.reply.is_gone());
    }

    /// The queries that go with a workflow task that starts now. One that went with an earlier task, which
    /// came to nothing, goes again.
    pub(super) fn send_with_task(&mut self) -> BTreeMap<String, WorkflowQuery> {
        let mut sent = BTreeMap::new();
        for (id, query) in &mut self.waiting {
            if query.way != Way::ByItself {
                query.way = Way::WithTask;
                sent.insert(id.clone(), query.query.clone());
            }
        }
        sent
    }

    /// Whoever waits for an answer.
    pub(super) fn into_callers(self) -> impl Iterator<Item = ReplyTo> {
        self.waiting.into_values().map(|query| query.reply)
    }

    /// Those that wait for a task that won't come, or went with one that came to nothing.
    fn take_stranded(&mut self) -> Vec<String> {
        let mut stranded = Vec::new();
        for (id, query) in &mut self.waiting {
            if query.way != Way::ByItself {
                query.way = Way::ByItself;
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
        world: &World<'_>,
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
        let way = if has_task { Way::Waits } else { Way::ByItself };
        cached.queries.waiting.insert(id.clone(), Query { query, reply, way });
        if way == Way::ByItself {
            self.send_by_itself(&run, id, world);
        }
    }

    fn send_by_itself(&mut self, run: &Run, id: String, world: &World<'_>) {
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

    /// A query that went by itself and a poller have met.
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

    /// A worker answers a query that went to it by itself.
    pub(super) fn answer_query(
        &mut self,
        key: EntityKey,
        id: String,
        result: WorkflowQueryResult,
        reply: ReplyTo,
    ) {
        let response = match self.take_answered(key, [(id, result)].into()).pop() {
            Some(answered) => {
                self.hand_on_answer(key, answered);
                Ok(Response::Done)
            }
            None => {
                let why = "query task not found, or already expired";
                Err(Rejection::TaskNotFound(why.to_owned()).into())
            }
        };
        self.answer(Some(key), reply, response);
    }

    /// The queries that a worker has answered, without those for which nobody waits any more.
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

    /// Tells whoever asked what a worker has answered, as soon as what it saw is durable.
    pub(super) fn hand_on_answer(&mut self, key: EntityKey, answered: Answered) {
        let Answered { query, result, .. } = answered;
        let outcome = match result.result_type() {
            QueryResultType::Answered => QueryOutcome::Answered(result.answer),
            QueryResultType::Failed | QueryResultType::Unspecified => {
                QueryOutcome::Failed(result.error_message, result.failure)
            }
        };
        self.answer(Some(key), query.reply, Ok(Response::Query(outcome)));
    }

    /// What the worker saw didn't happen: somebody else is asked.
    pub(super) fn ask_again(&mut self, key: EntityKey, answered: Vec<Answered>, world: &World<'_>) {
        let Some(cached) = self.cache.run_mut(key) else { return };
        cached.queries.waiting.extend(answered.into_iter().map(|it| (it.id, it.query)));
        self.free_queries(key, world);
    }

    /// If no workflow task is on its way any more, what waited for one goes by itself.
    pub(super) fn free_queries(&mut self, key: EntityKey, world: &World<'_>) {
        let Some(cached) = self.cache.run_mut(key) else { return };
        if cached.queries.is_empty() || cached.run.head.workflow_task.is_some() {
            return;
        }
        let run = Arc::clone(&cached.run);
        for id in cached.queries.take_stranded() {
            match can_be_asked(&run) {
                Ok(()) => self.send_by_itself(&run, id, world),
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

/// A worker must have had the run once, or be about to.
fn can_be_asked(run: &Run) -> Result<(), Rejection> {
    let task = run.head.workflow_task.as_ref();
    if task.is_some_and(|task| task.attempt >= HOPELESS_ATTEMPT) {
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
