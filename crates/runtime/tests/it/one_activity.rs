//! A workflow with one activity, from start to end, on every store, and across a restart.

use std::sync::Arc;

use perennial_proto::temporal::enums::v1::{EventType, WorkflowExecutionStatus};
use perennial_runtime::{Runtime, RuntimeConfig};
use perennial_store::{Durability, MemoryStore, SqliteStore, Store};

use crate::kit::{
    complete_workflow, completion, event_types, namespace, poller, report, schedule_activity, start,
};

const ONE_ACTIVITY: [EventType; 11] = [
    EventType::WorkflowExecutionStarted,
    EventType::WorkflowTaskScheduled,
    EventType::WorkflowTaskStarted,
    EventType::WorkflowTaskCompleted,
    EventType::ActivityTaskScheduled,
    EventType::ActivityTaskStarted,
    EventType::ActivityTaskCompleted,
    EventType::WorkflowTaskScheduled,
    EventType::WorkflowTaskStarted,
    EventType::WorkflowTaskCompleted,
    EventType::WorkflowExecutionCompleted,
];

async fn runs_to_its_end(store: Arc<dyn Store>) {
    let runtime = Runtime::open(store, &RuntimeConfig::default()).unwrap();
    let namespace = namespace(&runtime).await;
    let started = runtime.start(namespace, "greet".to_owned(), start("r")).await.unwrap();
    let target = started.run.name();

    let task = runtime.poll_workflow_task(poller(namespace)).await.unwrap();
    runtime.send(target.clone(), completion(&task, schedule_activity())).await.unwrap();
    let activity = runtime.poll_activity(poller(namespace)).await.unwrap();
    runtime.send(target.clone(), report(&activity)).await.unwrap();
    let task = runtime.poll_workflow_task(poller(namespace)).await.unwrap();
    runtime.send(target.clone(), completion(&task, complete_workflow())).await.unwrap();

    let run = runtime.read(target.clone()).await.unwrap();
    assert_eq!(run.head.status(), WorkflowExecutionStatus::Completed);
    assert_eq!(event_types(&runtime, target).await, ONE_ACTIVITY);
}

#[tokio::test]
async fn a_workflow_runs_to_its_end_in_memory() {
    runs_to_its_end(Arc::new(MemoryStore::default())).await;
}

#[tokio::test]
async fn a_workflow_runs_to_its_end_in_sqlite() {
    runs_to_its_end(Arc::new(SqliteStore::in_memory().unwrap())).await;
}

#[tokio::test]
async fn a_restart_goes_on_where_the_last_commit_was() {
    let folder = std::env::temp_dir().join(format!("perennial-restart-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("data.db");
    let open = || {
        let store = SqliteStore::open(&file, Durability::default()).unwrap();
        Runtime::open(Arc::new(store), &RuntimeConfig::default()).unwrap()
    };

    let runtime = open();
    let namespace = namespace(&runtime).await;
    let started = runtime.start(namespace, "greet".to_owned(), start("r")).await.unwrap();
    let target = started.run.name();
    runtime.stop();
    drop(runtime);

    let runtime = open();
    let task = runtime.poll_workflow_task(poller(namespace)).await.unwrap();
    runtime.send(target.clone(), completion(&task, schedule_activity())).await.unwrap();
    runtime.stop();
    drop(runtime);

    let runtime = open();
    let activity = runtime.poll_activity(poller(namespace)).await.unwrap();
    runtime.send(target.clone(), report(&activity)).await.unwrap();
    let task = runtime.poll_workflow_task(poller(namespace)).await.unwrap();
    runtime.send(target.clone(), completion(&task, complete_workflow())).await.unwrap();
    assert_eq!(event_types(&runtime, target).await, ONE_ACTIVITY);
    runtime.stop();
    drop(runtime);
    std::fs::remove_dir_all(&folder).unwrap();
}
