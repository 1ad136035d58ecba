//! Runs entities: cells, timers, task queues, messages and long polls.
//!
//! A server holds a [`Runtime`]. Every request goes to the cell that owns the workflow id, and is answered when
//! its effects are durable.

mod api;
mod api_keys;
mod batch_jobs;
mod cell;
mod clock;
pub mod cluster;
mod config;
mod damage;
mod health;
mod history;
mod listing;
mod memory_limits;
mod metrics;
mod namespace_deletion;
mod namespaces;
mod node;
mod polls;
mod queues;
mod records;
mod schedules;
pub mod simulation;
mod status;

pub use api::{
    ActivityGrant, CompletionPage, Demand, LeavingWorker, LentPoll, Polled, Poller, QueryOutcome,
    QueueDescription, Refusal, ResetOptions, Sent, Started, UpdateStatus, Watched,
    WorkflowTaskGrant,
};
pub use api_keys::{create_api_key, read_api_keys};
pub use cluster::{ClusterConfig, Owner, Place};
pub use config::{Evaluation, RuntimeConfig};
pub use damage::DamageCount;
pub use memory_limits::Admitted;
pub use namespaces::{Isolation, Namespaces};
pub use records::NamespaceChange;
pub use schedules::{
    EvaluatedSchedule, EvaluationPass, Ledger, LedgerPage, LedgerQuery, SchedulePage,
};
pub use status::{CommitTimes, StorageStatus, UnpolledQueue};

use std::collections::BTreeSet;
use std::sync::Arc;

use perennial_engine::run::{self, Command, Limits, Rejection, Run, StartRun, TaskStamp};
use perennial_engine::{EntityId, NamespaceKey, Time, Zones};
use perennial_proto::store::{NamespaceRecord, RunName};
use perennial_proto::temporal::command::v1 as command;
use perennial_proto::temporal::common::v1::Principal;
use perennial_proto::temporal::enums::v1::{
    QueryRejectCondition, TaskQueueType, UpdateWorkflowExecutionLifecycleStage,
    WorkflowExecutionStatus,
};
use perennial_proto::temporal::query::v1::{WorkflowQuery, WorkflowQueryResult};
use perennial_proto::temporal::update::v1 as update;
use perennial_store::Store;
use perennial_store::visibility::{Count, Page, Position, Query};
use perennial_telemetry::{CallTimes, RefusalReason};
use tokio::sync::{Mutex, oneshot};

use self::cell::{Incoming, ReplyTo, Request, ResetFrom, Response, RunRequest, WorkflowRequest};
use self::node::Node;
use self::queues::{QueueKind, QueueName};

/// Attempts of a reset while the run continues.
const RESET_ATTEMPTS: usize = 10;
/// Runs of a chain that a reset searches for signals.
const CHAIN_MAX: usize = 1_000;

/// Handle of a running node: cheap to clone, shared by all requests of a server.
#[derive(Clone)]
pub struct Runtime {
    node: Arc<Node>,
    /// Serialises changes of records: namespaces, batch jobs, cluster records.
    record_lock: Arc<Mutex<()>>,
    /// Background work in progress: batch jobs by their keys, and namespaces that are being emptied.
    under_way: Arc<std::sync::Mutex<BTreeSet<String>>>,
    principal: Option<Arc<Principal>>,
}

/// Why a runtime can't start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] perennial_store::Error),
    /// The system can't start a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl Runtime {
    /// Starts a runtime on a store.
    pub fn open(store: Arc<dyn Store>, config: &RuntimeConfig) -> Result<Self, OpenError> {
        Ok(Self::of(Node::open(store, config)?))
    }

    pub(crate) fn of(node: Arc<Node>) -> Self {
        Self { node, record_lock: Arc::default(), under_way: Arc::default(), principal: None }
    }

    /// The same runtime, called by this principal: the events that its requests cause carry it.
    #[must_use]
    pub fn called_by(&self, principal: Option<Principal>) -> Self {
        Self { principal: principal.map(Arc::new), ..self.clone() }
    }

    /// Stops all threads and blocks until they have ended. Acknowledged requests are durable; later ones fail.
    pub fn stop(&self) {
        self.node.stop();
    }

    /// Entity time.
    pub fn now(&self) -> Time {
        self.node.now()
    }

    /// A new id.
    pub fn fresh_id(&self) -> String {
        self.node.environment.fresh_ids().next(self.now())
    }

    /// Time zones for schedules and cron strings.
    pub fn zones(&self) -> &Zones {
        &self.node.zones
    }

    /// Limits on runs, payloads and requests.
    pub fn limits(&self) -> &Limits {
        &self.node.limits
    }

    /// A snapshot of the namespaces.
    pub fn namespaces(&self) -> Arc<Namespaces> {
        self.node.namespaces()
    }

    /// Starts a workflow, or finds the current run.
    pub async fn start(
        &self,
        namespace: NamespaceKey,
        workflow_id: String,
        start: StartRun,
    ) -> Result<Started, Refusal> {
        let id = EntityId::workflow(namespace, workflow_id);
        let ask = WorkflowRequest::Start(Box::new(start));
        match self.ask(Request::Workflow { id, ask }).await? {
            Response::Started(started) => Ok(*started),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends a command to a run.
    pub async fn send(&self, target: RunName, command: Command) -> Result<Sent, Refusal> {
        match self.ask_run(target, RunRequest::Command(command)).await? {
            Response::Sent(sent) => Ok(*sent),
            other => Err(unexpected(&other)),
        }
    }

    /// The current state of a run.
    pub async fn read(&self, target: RunName) -> Result<Arc<Run>, Refusal> {
        match self.ask_run(target, RunRequest::Read).await? {
            Response::Run(run) => Ok(run),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until a run has an event of this id, or is closed.
    pub async fn watch(&self, target: RunName, event_id: i64) -> Result<Watched, Refusal> {
        match self.ask_run(target, RunRequest::Watch { event_id }).await? {
            Response::Watched(watched) => Ok(watched),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until a run is closed.
    pub async fn watch_close(&self, target: RunName) -> Result<Watched, Refusal> {
        self.watch(target, i64::MAX).await
    }

    /// Deletes a closed run, or terminates and deletes an open one.
    pub async fn delete(&self, target: RunName) -> Result<(), Refusal> {
        self.ask_run(target, RunRequest::Delete).await.map(|_| ())
    }

    /// Starts a new run from the history of an old one, up to before an event. Returns its run id.
    pub async fn reset(&self, target: RunName, reset: ResetOptions) -> Result<String, Refusal> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.try_reset(target.clone(), &reset).await {
                // The run continued while its history was read: retry, a bounded number of times.
                Err(Refusal::Unavailable(_)) if attempts < RESET_ATTEMPTS => {}
                done => return done,
            }
        }
    }

    async fn try_reset(&self, target: RunName, reset: &ResetOptions) -> Result<String, Refusal> {
        let base = self.read(target).await?;
        let mut kept = self.events(&base).await?;
        let mut later = kept.split_off(kept.partition_point(|it| it.event_id < reset.event_id));
        let mut followed = Arc::clone(&base);
        // Bounded, in case the stored chain has a loop.
        for _ in 0..CHAIN_MAX {
            let is_chain = followed.head.status() == WorkflowExecutionStatus::ContinuedAsNew;
            if !is_chain || followed.head.successor_run_id.is_empty() {
                break;
            }
            let next =
                RunName { run_id: followed.head.successor_run_id.clone(), ..followed.name() };
            let Ok(next) = self.read(next).await else { break };
            later.extend(self.events(&next).await?);
            followed = next;
        }
        let namespaces = self.namespaces();
        let named = namespaces.iter().map(|it| (it.id.clone(), namespaces::reference(it)));
        let request = run::ResetRun {
            request_id: reset.request_id.clone(),
            reason: reset.reason.clone(),
            event_id: reset.event_id,
            exclude_signals: reset.exclude_signals,
            exclude_updates: reset.exclude_updates,
            namespaces: named.collect(),
        };
        let next_event_id = base.head.next_event_id;
        let reset = Box::new(ResetFrom { request, kept, later, next_event_id });
        match self.ask_run(base.name(), RunRequest::Reset(reset)).await? {
            Response::Reset(run_id) => Ok(run_id),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the polls of a worker that shuts down: they return [`Refusal::TimedOut`]. Tasks in its sticky queue move
    /// to the normal one.
    pub fn end_polls(&self, leaving: &LeavingWorker) {
        self.node.queues.end_polls(leaving, self.node.monotonic());
    }

    /// Buffers a page of a workflow task's completion while the worker has the task.
    pub async fn keep_page(&self, target: RunName, page: CompletionPage) -> Result<(), Refusal> {
        self.ask_run(target, RunRequest::KeepPage(Box::new(page))).await.map(|_| ())
    }

    /// Removes the first pages of a completion and returns their commands in order.
    pub async fn take_pages(
        &self,
        target: RunName,
        task: TaskStamp,
        count: usize,
    ) -> Result<Vec<command::Command>, Refusal> {
        match self.ask_run(target, RunRequest::TakePages { task, count }).await? {
            Response::Pages(commands) => Ok(commands),
            other => Err(unexpected(&other)),
        }
    }

    /// Queries a run.
    pub async fn query(
        &self,
        target: RunName,
        query: WorkflowQuery,
        reject: QueryRejectCondition,
    ) -> Result<QueryOutcome, Refusal> {
        match self.ask_run(target, RunRequest::Query { query, reject }).await? {
            Response::Query(outcome) => Ok(outcome),
            other => Err(unexpected(&other)),
        }
    }

    /// A worker answers a query that was sent without a workflow task.
    pub async fn answer_query(
        &self,
        target: RunName,
        query_id: String,
        result: WorkflowQueryResult,
    ) -> Result<(), Refusal> {
        self.ask_run(target, RunRequest::AnswerQuery { query_id, result }).await.map(|_| ())
    }

    /// Sends an update to a run, and waits until it has reached the stage `wait`.
    pub async fn update(
        &self,
        target: RunName,
        request: update::Request,
        wait: UpdateWorkflowExecutionLifecycleStage,
    ) -> Result<UpdateStatus, Refusal> {
        let request = Box::new(request);
        match self.ask_run(target, RunRequest::Update { request, wait }).await? {
            Response::Update(status) => Ok(status),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits for an update that was sent before.
    pub async fn poll_update(
        &self,
        target: RunName,
        update_id: String,
        wait: UpdateWorkflowExecutionLifecycleStage,
    ) -> Result<UpdateStatus, Refusal> {
        match self.ask_run(target, RunRequest::PollUpdate { update_id, wait }).await? {
            Response::Update(status) => Ok(status),
            other => Err(unexpected(&other)),
        }
    }

    /// Starts a workflow, or finds the current run, and sends it an update.
    pub async fn start_with_update(
        &self,
        namespace: NamespaceKey,
        workflow_id: String,
        start: StartRun,
        request: update::Request,
        wait: UpdateWorkflowExecutionLifecycleStage,
    ) -> Result<(Started, Result<UpdateStatus, Refusal>), Refusal> {
        let ask = || {
            let (start, update) = (Box::new(start.clone()), Box::new(request.clone()));
            let id = EntityId::workflow(namespace, workflow_id.as_str());
            let ask = WorkflowRequest::StartWithUpdate { start, update, wait };
            self.ask(Request::Workflow { id, ask })
        };
        let answer = match ask().await? {
            // The existing run closed before it handled the update, so the start applies after all. Retried once: if
            // the next run closes too, the caller gets the error.
            Response::StartedWithUpdate(started, Err(Refusal::Rejected(why)))
                if !started.is_new && why == Rejection::UpdateAborted =>
            {
                ask().await?
            }
            answer => answer,
        };
        match answer {
            Response::StartedWithUpdate(started, update) => Ok((*started, update)),
            other => Err(unexpected(&other)),
        }
    }

    /// Describes a task queue.
    pub fn describe_queue(
        &self,
        namespace: NamespaceKey,
        queue: &str,
        kind: TaskQueueType,
    ) -> QueueDescription {
        let kind = match kind {
            TaskQueueType::Activity => QueueKind::Activity,
            _ => QueueKind::Workflow,
        };
        let name = QueueName { namespace, name: queue.to_owned(), kind };
        self.node.queues.describe(&name, self.node.monotonic(), self.now())
    }

    /// A page of a namespace's runs that match a filter, after the last run of the previous page.
    pub async fn list(
        &self,
        namespace: &NamespaceRecord,
        filter: &str,
        page_size: usize,
        after: Option<Position>,
    ) -> Result<Page, Refusal> {
        let query = parse_filter(namespace, filter)?;
        self.list_found(NamespaceKey(namespace.key), query, page_size, after).await
    }

    /// [`Self::list`] for a parsed query.
    pub async fn list_found(
        &self,
        key: NamespaceKey,
        query: Query,
        page_size: usize,
        after: Option<Position>,
    ) -> Result<Page, Refusal> {
        self.with_store(move |store| store.list(key, &query, page_size, after.as_ref())).await
    }

    /// Number of a namespace's runs that match a filter, by group if the filter groups.
    pub async fn count(&self, namespace: &NamespaceRecord, filter: &str) -> Result<Count, Refusal> {
        let query = parse_filter(namespace, filter)?;
        let key = NamespaceKey(namespace.key);
        self.with_store(move |store| store.count(key, &query)).await
    }

    async fn ask_run(&self, target: RunName, ask: RunRequest) -> Result<Response, Refusal> {
        self.ask(Request::Run { target, ask }).await
    }

    async fn ask(&self, request: Request) -> Result<Response, Refusal> {
        let admitted = self.admit(request.bytes())?;
        let (reply, answered) = oneshot::channel();
        let is_read = request.is_read();
        let times = CallTimes::ask(|| request.after_turn());
        let reply = ReplyTo::Caller(reply, admitted, times);
        self.node.ask(Incoming { request, reply, principal: self.principal.clone() });
        answered.await.unwrap_or_else(|_| Err(self.unanswered(is_read)))
    }

    /// The cell ended before it answered. What a read waits for, the next owner of the cell can tell.
    fn unanswered(&self, is_read: bool) -> Refusal {
        match self.node.cluster {
            Some(_) if is_read => Refusal::Moved,
            Some(_) => Refusal::Unavailable("the cell has moved to another node; retry".to_owned()),
            None => Refusal::Unavailable("the server is stopping; retry".to_owned()),
        }
    }

    /// Reserves memory for a request of this size, or refuses it with [`Refusal::Overloaded`]. The caller keeps the
    /// reservation until the request is answered.
    pub fn admit(&self, bytes: usize) -> Result<Admitted, Refusal> {
        let admitted = self.node.admission.admit(bytes);
        if admitted.is_err() {
            self.node.metrics.refused(RefusalReason::Memory);
        }
        admitted
    }

    /// Uses the store on a blocking thread.
    async fn with_store<T: Send + 'static>(
        &self,
        reading: impl FnOnce(&dyn Store) -> Result<T, perennial_store::Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let store = Arc::clone(&self.node.store);
        if self.node.environment.is_simulated() {
            return reading(store.as_ref()).map_err(Refusal::from);
        }
        let read = tokio::task::spawn_blocking(move || reading(store.as_ref())).await;
        read.map_err(|error| Refusal::Unavailable(error.to_string()))?.map_err(Refusal::from)
    }
}

fn parse_filter(namespace: &NamespaceRecord, filter: &str) -> Result<Query, Rejection> {
    Query::parse(filter, &listing::attributes_of(namespace))
        .map_err(|error| Rejection::InvalidArgument(error.to_string()))
}

fn unexpected(response: &Response) -> Refusal {
    Refusal::Unavailable(format!("unexpected response of the cell: {response:?}"))
}
