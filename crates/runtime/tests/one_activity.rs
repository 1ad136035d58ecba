//! A workflow with one activity, from start to end, on every store, and across a restart.

#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

use std::sync::Arc;

use perennial_engine::run::{
    ActivityOutcome, ActivityTarget, Command, CompleteWorkflowTask, ReportActivity, StartRun,
    TaskStamp, WorkflowTaskToken,
};
use perennial_engine::{NamespaceKey, Span};
use perennial_proto::store::{NamespaceRecord, RunName};
use perennial_proto::temporal::command::v1 as command;
use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::common::v1::{ActivityType, WorkflowType};
use perennial_proto::temporal::enums::v1::{EventType, WorkflowExecutionStatus};
use perennial_proto::temporal::history::v1::{History, WorkflowExecutionStartedEventAttributes};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_runtime::{ActivityGrant, Poller, Runtime, RuntimeConfig, WorkflowTaskGrant};
use perennial_store::{Durability, MemoryStore, SqliteStore, Store};
use prost::Message;

const QUEUE: &str = "queue";

fn poller(namespace: NamespaceKey) -> Poller {
    Poller {
        namespace,
        queue: QUEUE.to_owned(),
        normal_queue: None,
        identity: "worker".to_owned(),
        worker_version: None,
        worker_instance_key: String::new(),
        max_tasks_per_second: None,
    }
}

fn start(request_id: &str) -> StartRun {
    StartRun {
        request_id: request_id.to_owned(),
        run_id: None,
        started: Box::new(WorkflowExecutionStartedEventAttributes {
            workflow_type: Some(WorkflowType { name: "Greet".to_owned() }),
            task_queue: Some(TaskQueue { name: QUEUE.to_owned(), ..TaskQueue::default() }),
            ..WorkflowExecutionStartedEventAttributes::default()
        }),
        delay: Span::ZERO,
        reuse_policy: Default::default(),
        conflict_policy: Default::default(),
        user_metadata: None,
        links: Vec::new(),
        eager: None,
        signal: None,
        attach_links: false,
        attach_request_id: false,
    }
}

fn completion(grant: &WorkflowTaskGrant, attributes: Attributes) -> Command {
    let task = grant.run.head.workflow_task.clone().unwrap();
    Command::CompleteWorkflowTask(Box::new(CompleteWorkflowTask {
        token: WorkflowTaskToken {
            scheduled_event_id: task.scheduled_event_id,
            started_event_id: task.started_event_id,
            attempt: task.attempt,
            stamp: task.stamp,
        },
        commands: vec![command::Command {
            attributes: Some(attributes),
            ..command::Command::default()
        }],
        ..CompleteWorkflowTask::default()
    }))
}

fn schedule_activity() -> Attributes {
    Attributes::ScheduleActivityTaskCommandAttributes(
        command::ScheduleActivityTaskCommandAttributes {
            activity_id: "1".to_owned(),
            activity_type: Some(ActivityType { name: "Say".to_owned() }),
            start_to_close_timeout: Some(Span::seconds(10).into()),
            ..Default::default()
        },
    )
}

fn complete_workflow() -> Attributes {
    Attributes::CompleteWorkflowExecutionCommandAttributes(Default::default())
}

fn report(grant: &ActivityGrant) -> Command {
    let activity = &grant.run.activities[&grant.scheduled_event_id];
    Command::ReportActivity(Box::new(ReportActivity {
        target: ActivityTarget::Token(TaskStamp {
            scheduled_event_id: grant.scheduled_event_id,
            attempt: activity.attempt,
            stamp: activity.stamp,
        }),
        outcome: ActivityOutcome::Completed(None),
        identity: "worker".to_owned(),
    }))
}

async fn namespace(runtime: &Runtime) -> NamespaceKey {
    let record = NamespaceRecord { name: "default".to_owned(), ..NamespaceRecord::default() };
    NamespaceKey(runtime.register_namespace(record).await.unwrap().key)
}

async fn event_types(runtime: &Runtime, target: RunName) -> Vec<EventType> {
    let run = runtime.read(target).await.unwrap();
    let fragments = runtime.history(&run, 1, run.last_event_id(), usize::MAX, false).await.unwrap();
    let bytes: Vec<u8> = fragments.into_iter().flat_map(|fragment| fragment.bytes).collect();
    let events = History::decode(bytes.as_slice()).unwrap().events;
    let ids: Vec<_> = events.iter().map(|event| event.event_id).collect();
    assert_eq!(ids, (1..=run.last_event_id()).collect::<Vec<_>>());
    events.iter().map(|event| event.event_type()).collect()
}

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
async fn waiting_pollers_are_matched_before_the_commit() {
    let runtime =
        Runtime::open(Arc::new(MemoryStore::default()), &RuntimeConfig::default()).unwrap();
    let namespace = namespace(&runtime).await;
    let waiting = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.poll_workflow_task(poller(namespace)).await.unwrap() }
    });
    while runtime.describe_queue(namespace, QUEUE, Default::default()).pollers.is_empty() {
        tokio::task::yield_now().await;
    }
    let started = runtime.start(namespace, "greet".to_owned(), start("r")).await.unwrap();
    assert!(started.run.head.workflow_task.as_ref().unwrap().started_at != 0);
    assert_eq!(waiting.await.unwrap().run.head.run_id, started.run.head.run_id);
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
