//! Load on a server that is killed repeatedly. Everything acknowledged must have happened exactly once.
//!
//! With several addresses it uses all nodes of a cluster: each call goes to the next one, also when it is made again.
//! Runs until its standard input ends, waits for everything under way, and says what it found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use temporalio_client::{
    Client, WorkflowCountOptions, WorkflowGetResultOptions, WorkflowIdConflictPolicy,
    WorkflowSignalOptions, WorkflowStartOptions, errors::WorkflowInteractionError,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_sdk::{
    ActivityOptions, SyncWorkflowContext, WorkerOptions, WorkflowContext, WorkflowResult,
};
use tokio::task::JoinSet;

use crate::Load;
use crate::worker::beside_workers;

const TASK_QUEUE: &str = "crash";
const SIGNALS: usize = 5;
/// Between tries of a call that the SDK has given up.
const TRY_AGAIN: Duration = Duration::from_millis(50);
/// A run that has no result so long after the last crash is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

struct Activities;

#[activities]
impl Activities {
    #[activity]
    async fn double(_: ActivityContext, number: usize) -> Result<usize, ActivityError> {
        Ok(2 * number)
    }
}

/// An activity, signals, a timer, an activity.
#[workflow]
#[derive(Default)]
struct Collect {
    received: Vec<usize>,
}

#[workflow_methods]
impl Collect {
    #[run]
    async fn run(ctx: &mut WorkflowContext<Self>, number: usize) -> WorkflowResult<Vec<usize>> {
        // Short: a worker that died with the server's answer on its way isn't waited for long.
        let options = || ActivityOptions::start_to_close_timeout(Duration::from_secs(2));
        let doubled = ctx.execute_activity(Activities::double, number, options()).await?;
        ctx.wait_condition(|state| state.received.len() >= SIGNALS).await?;
        ctx.timer(Duration::from_millis(20)).await;
        let doubled = ctx.execute_activity(Activities::double, doubled, options()).await?;
        let mut all = ctx.state(|state| state.received.clone());
        all.push(doubled);
        Ok(all)
    }

    #[signal]
    fn number(&mut self, _: &mut SyncWorkflowContext<Self>, number: usize) {
        self.received.push(number);
    }
}

pub(crate) async fn run(addresses: &str, load: Load) -> serde_json::Value {
    let worker = WorkerOptions::new(TASK_QUEUE)
        .register_workflow::<Collect>()
        .expect("the workflow has a name")
        .register_activities(Activities)
        .build();
    beside_workers(addresses, worker, async |clients| work(Nodes::of(clients), load.at_once).await)
        .await
}

/// A client of each node.
struct Nodes {
    clients: Vec<Client>,
    next: AtomicUsize,
}

impl Nodes {
    fn of(clients: Vec<Client>) -> Arc<Self> {
        Arc::new(Self { clients, next: AtomicUsize::new(0) })
    }

    /// The client for the next call.
    fn next(&self) -> &Client {
        &self.clients[self.next.fetch_add(1, Ordering::Relaxed) % self.clients.len()]
    }
}

async fn work(nodes: Arc<Nodes>, at_once: usize) -> serde_json::Value {
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    std::thread::spawn(move || {
        // Whatever ends the input ends the load.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        told.store(true, Ordering::Relaxed);
    });
    let mut under_way = JoinSet::new();
    let (mut made, mut faults) = (0, Vec::new());
    loop {
        while under_way.len() < at_once && !is_over.load(Ordering::Relaxed) {
            made += 1;
            under_way.spawn(one(Arc::clone(&nodes), made));
        }
        match under_way.join_next().await {
            Some(done) => faults.extend(done.expect("a client of one workflow ends").err()),
            None => break,
        }
    }
    let open =
        count(nodes.next(), "WorkflowType = 'Collect' AND ExecutionStatus = 'Running'").await;
    let all = count(nodes.next(), "WorkflowType = 'Collect'").await;
    if open != 0 || all != made {
        faults.push(format!("{made} workflows were started, the server has {all}, {open} open"));
    }
    json!({ "ran": made, "signals": made * SIGNALS, "faults": faults })
}

async fn count(client: &Client, query: &str) -> usize {
    let counted = client.count_workflows(query, WorkflowCountOptions::default()).await;
    counted.expect("the server counts").count()
}

/// Starts a workflow, sends it signals, and looks at its result. A call without an answer is made again:
/// it may have happened, and must not happen twice.
async fn one(nodes: Arc<Nodes>, number: usize) -> Result<(), String> {
    let id = format!("crash-{}-{number}", std::process::id());
    loop {
        let options = WorkflowStartOptions::new(TASK_QUEUE, id.clone())
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .build();
        match nodes.next().start_workflow(Collect::run, number, options).await {
            Ok(_) => break,
            Err(_) => tokio::time::sleep(TRY_AGAIN).await,
        }
    }
    let run = || nodes.next().get_workflow_handle::<Collect>(&id);
    for signal in 0..SIGNALS {
        let options =
            || WorkflowSignalOptions::builder().request_id(format!("{id}-{signal}")).build();
        loop {
            match run().signal(Collect::number, signal, options()).await {
                // The answer to an earlier try was lost, and the run has ended since. Its result says what it got.
                Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => break,
                Err(_) => tokio::time::sleep(TRY_AGAIN).await,
            }
        }
    }
    let result = async {
        loop {
            match run().get_result(WorkflowGetResultOptions::default()).await {
                Ok(result) => return result,
                Err(_) => tokio::time::sleep(TRY_AGAIN).await,
            }
        }
    };
    let mut wanted: Vec<usize> = (0..SIGNALS).collect();
    wanted.push(4 * number);
    match tokio::time::timeout(PATIENCE, result).await {
        Err(_) => Err(format!("{id} has no result")),
        Ok(result) if result != wanted => Err(format!("{id} got {result:?}, not {wanted:?}")),
        Ok(_) => Ok(()),
    }
}
