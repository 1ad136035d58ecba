//! Test setup: a client, a worker, and unique ids.

use std::time::Duration;

use temporalio_client::{
    Client, ClientOptions, WorkflowFetchHistoryOptions, WorkflowGetResultOptions, WorkflowHandle,
    WorkflowStartOptions,
};
use temporalio_common::HasWorkflowDefinition;
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use uuid::Uuid;

use crate::activities::{Activities, Told};
use crate::connection;
use crate::workflows;

/// How long anything may take before the test gives up: far more than a busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Scene {
    pub(crate) client: Client,
    pub(crate) task_queue: String,
    /// What the activity that a test follows step by step tells it.
    pub(crate) told: Told,
}

/// Runs the test beside a worker that serves its task queue.
pub(crate) async fn with_worker(test: impl AsyncFnOnce(&Scene)) {
    let client = Client::connect(connection::options(), ClientOptions::new("default").build())
        .await
        .expect("the server answers at TEMPORAL_ADDRESS");
    let scene =
        Scene { client, task_queue: format!("rust-{}", Uuid::new_v4()), told: Told::default() };

    let runtime = Runtime::from_current_tokio(Default::default()).expect("a runtime of the SDK");
    let options = workflows::register(WorkerOptions::new(scene.task_queue.clone()))
        .register_activities(Activities::new(&scene.told))
        // Heartbeats leave at once: a cancellation comes back with the answer to one.
        .max_heartbeat_throttle_interval(Duration::from_millis(50))
        .build();
    let mut worker = Worker::new(&runtime, scene.client.clone(), options).expect("a worker");
    let shutdown = worker.shutdown_handle();
    let test = async {
        tokio::time::timeout(PATIENCE, test(&scene)).await.expect("the test ends in time");
        shutdown();
    };
    let (ran, ()) = tokio::join!(worker.run(), test);
    ran.expect("the worker ends when it is told to");
}

impl Scene {
    /// Starts a run under an id that no other test and no earlier run of the suite has used.
    pub(crate) async fn start<W>(&self, workflow: W, input: W::Input) -> WorkflowHandle<Client, W>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        let id = format!("rust-{}", Uuid::new_v4());
        let options = WorkflowStartOptions::new(self.task_queue.clone(), id).build();
        self.client.start_workflow(workflow, input, options).await.expect("the workflow starts")
    }

    pub(crate) async fn result<W>(&self, handle: &WorkflowHandle<Client, W>) -> W::Output
    where
        W: HasWorkflowDefinition,
    {
        handle
            .get_result(WorkflowGetResultOptions::default())
            .await
            .expect("the workflow completes")
    }

    /// The types of all events of a run, in order.
    pub(crate) async fn event_types<W>(&self, handle: &WorkflowHandle<Client, W>) -> Vec<String>
    where
        W: HasWorkflowDefinition,
    {
        let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
        let events = history.into_events().await.expect("the history can be read");
        events.iter().map(|event| format!("{:?}", event.event_type())).collect()
    }
}
