//! Helpers for tests: a worker and a client in a few lines.

use std::task::{Context, Poll, Waker};

use perennial_engine::run::{
    ActivityOutcome, ActivityTarget, Command, CompleteWorkflowTask, ReportActivity, StartRun,
    TaskStamp,
};
use perennial_engine::{NamespaceKey, Slot, Span};
use perennial_proto::store::{NamespaceRecord, RunName};
use perennial_proto::temporal::command::v1 as command;
use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::common::v1::{ActivityType, WorkflowType};
use perennial_proto::temporal::enums::v1::EventType;
use perennial_proto::temporal::history::v1::{History, WorkflowExecutionStartedEventAttributes};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_runtime::simulation::Node;
use perennial_runtime::{ActivityGrant, Poller, Runtime, WorkflowTaskGrant};
use prost::Message;

pub(crate) const QUEUE: &str = "queue";

pub(crate) fn poller(namespace: NamespaceKey) -> Poller {
    Poller {
        namespace,
        queue: QUEUE.to_owned(),
        normal_queue: None,
        identity: "worker".to_owned(),
        worker_version: None,
        deployment: None,
        worker_instance_key: String::new(),
        max_tasks_per_second: None,
    }
}

pub(crate) fn start(request_id: &str) -> StartRun {
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
        traceparent: String::new(),
    }
}

pub(crate) fn completion(grant: &WorkflowTaskGrant, attributes: Attributes) -> Command {
    let task = grant.run.head.workflow_task.clone().unwrap();
    Command::CompleteWorkflowTask(Box::new(CompleteWorkflowTask {
        token: TaskStamp::from(&task),
        commands: vec![command::Command {
            attributes: Some(attributes),
            ..command::Command::default()
        }],
        ..CompleteWorkflowTask::default()
    }))
}

/// The workflow waits for something to happen.
pub(crate) fn idle_completion(grant: &WorkflowTaskGrant) -> Command {
    let task = grant.run.head.workflow_task.clone().unwrap();
    let token = TaskStamp::from(&task);
    Command::CompleteWorkflowTask(Box::new(CompleteWorkflowTask {
        token,
        ..CompleteWorkflowTask::default()
    }))
}

/// A workflow id that the first or the second of two cells owns.
pub(crate) fn name_in_cell(namespace: NamespaceKey, cell: u16) -> String {
    let is_there = |id: &String| Slot::of(namespace, id).0 / (Slot::COUNT / 2) == cell;
    (0..).map(|number| format!("workflow-{number}")).find(is_there).unwrap()
}

pub(crate) fn start_child(workflow_id: String) -> Attributes {
    let workflow_type = Some(WorkflowType { name: "Child".to_owned() });
    Attributes::StartChildWorkflowExecutionCommandAttributes(
        command::StartChildWorkflowExecutionCommandAttributes {
            workflow_id,
            workflow_type,
            ..Default::default()
        },
    )
}

pub(crate) fn schedule_activity() -> Attributes {
    Attributes::ScheduleActivityTaskCommandAttributes(
        command::ScheduleActivityTaskCommandAttributes {
            activity_id: "1".to_owned(),
            activity_type: Some(ActivityType { name: "Say".to_owned() }),
            start_to_close_timeout: Some(Span::seconds(10).into()),
            ..Default::default()
        },
    )
}

pub(crate) fn complete_workflow() -> Attributes {
    Attributes::CompleteWorkflowExecutionCommandAttributes(Default::default())
}

pub(crate) fn report(grant: &ActivityGrant) -> Command {
    let activity = &grant.run.activities[&grant.scheduled_event_id];
    Command::ReportActivity(Box::new(ReportActivity {
        target: ActivityTarget::Token(TaskStamp::from(&**activity)),
        outcome: ActivityOutcome::Completed(None),
        identity: "worker".to_owned(),
        worker_version: None,
    }))
}

/// Takes turns of the node until the future has its answer.
pub(crate) fn drive<T>(node: &mut Node, asked: impl Future<Output = T>) -> T {
    let mut asked = std::pin::pin!(asked);
    loop {
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(answer) = asked.as_mut().poll(&mut cx) {
            return answer;
        }
        assert!(node.take_any_turn(), "nothing is left to do, and there is no answer");
    }
}

pub(crate) async fn namespace(runtime: &Runtime) -> NamespaceKey {
    let record = NamespaceRecord { name: "default".to_owned(), ..NamespaceRecord::default() };
    NamespaceKey(runtime.register_namespace(record).await.unwrap().key)
}

pub(crate) async fn event_types(runtime: &Runtime, target: RunName) -> Vec<EventType> {
    let run = runtime.read(target).await.unwrap();
    let fragments = runtime.history(&run, 1, run.last_event_id(), usize::MAX, false).await.unwrap();
    let bytes: Vec<u8> = fragments.into_iter().flat_map(|fragment| fragment.bytes).collect();
    let events = History::decode(bytes.as_slice()).unwrap().events;
    let ids: Vec<_> = events.iter().map(|event| event.event_id).collect();
    assert_eq!(ids, (1..=run.last_event_id()).collect::<Vec<_>>());
    events.iter().map(|event| event.event_type()).collect()
}
