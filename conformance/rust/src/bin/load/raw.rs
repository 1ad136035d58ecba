//! Load with bare gRPC calls, without the overhead of an SDK.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use temporalio_common::protos::temporal::api::command::v1::{
    Command, CompleteWorkflowExecutionCommandAttributes, ScheduleActivityTaskCommandAttributes,
    StartTimerCommandAttributes, command::Attributes,
};
use temporalio_common::protos::temporal::api::common::v1::{
    ActivityType, WorkflowExecution, WorkflowType,
};
use temporalio_common::protos::temporal::api::enums::v1::{
    CommandType, EventType, HistoryEventFilterType,
};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflowservice::v1::workflow_service_client::WorkflowServiceClient;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    GetSystemInfoRequest, GetWorkflowExecutionHistoryRequest, PollActivityTaskQueueRequest,
    PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse,
    RespondActivityTaskCompletedRequest, RespondWorkflowTaskCompletedRequest,
    StartWorkflowExecutionRequest,
};
use tokio::task::JoinSet;
use tonic::transport::Channel;

use crate::Load;

const NAMESPACE: &str = "default";
/// Of each kind.
const POLLERS_MAX: usize = 32;

type Service = WorkflowServiceClient<Channel>;

pub(crate) async fn run(address: &str, load: Load) -> serde_json::Value {
    let service = Service::connect(format!("http://{address}")).await.expect("the server answers");
    // A worker and a client have a connection each, as processes of their own would.
    let worker = Service::connect(format!("http://{address}")).await.expect("the server answers");
    let decided = Arc::new(AtomicU64::new(0));
    let mut pollers = JoinSet::new();
    for _ in 0..load.at_once.clamp(2, POLLERS_MAX) {
        pollers.spawn(poll_workflow_tasks(worker.clone(), next_command, Arc::clone(&decided)));
        pollers.spawn(poll_activity_tasks(worker.clone()));
    }
    load.put(|id| one(service.clone(), id)).await
}

/// Calls that cost the server nothing but the call.
pub(crate) async fn make_empty_calls(address: &str, load: Load) -> serde_json::Value {
    let service = Service::connect(format!("http://{address}")).await.expect("the server answers");
    load.put(|_| {
        let mut service = service.clone();
        async move {
            let answer = service.get_system_info(GetSystemInfoRequest::default()).await;
            answer.expect("the server tells about itself");
        }
    })
    .await
}

/// Starts workflows that sleep for a month, each in a timer of its own.
pub(crate) async fn put_to_sleep(address: &str, load: Load) -> serde_json::Value {
    let service = Service::connect(format!("http://{address}")).await.expect("the server answers");
    let worker = Service::connect(format!("http://{address}")).await.expect("the server answers");
    let began = Instant::now();
    let asleep = Arc::new(AtomicU64::new(0));
    let mut pollers = JoinSet::new();
    for _ in 0..load.at_once.clamp(2, POLLERS_MAX) {
        let decide = |_: &PollWorkflowTaskQueueResponse| sleep_for_a_month();
        pollers.spawn(poll_workflow_tasks(worker.clone(), decide, Arc::clone(&asleep)));
    }
    let next = Arc::new(AtomicU64::new(0));
    let mut starters = JoinSet::new();
    for _ in 0..load.at_once {
        let (mut service, next) = (service.clone(), Arc::clone(&next));
        starters.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= load.amount {
                    return;
                }
                start(&mut service, format!("sleeper-{number}"), "Sleep").await;
            }
        });
    }
    starters.join_all().await;
    while asleep.load(Ordering::Relaxed) < load.amount {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let seconds = began.elapsed().as_secs_f64();
    json!({ "ran": load.amount, "a_second": load.amount as f64 / seconds })
}

/// Returns its run id.
async fn start(service: &mut Service, id: String, workflow_type: &str) -> String {
    let start = StartWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_id: id.clone(),
        workflow_type: Some(WorkflowType { name: workflow_type.to_owned() }),
        task_queue: Some(task_queue()),
        request_id: id,
        ..Default::default()
    };
    let started = service.start_workflow_execution(start).await;
    started.expect("the workflow starts").into_inner().run_id
}

async fn one(mut service: Service, id: String) {
    let run_id = start(&mut service, id.clone(), "Greet").await;
    let mut ask = GetWorkflowExecutionHistoryRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(WorkflowExecution { workflow_id: id, run_id }),
        wait_new_event: true,
        history_event_filter_type: HistoryEventFilterType::CloseEvent.into(),
        ..Default::default()
    };
    loop {
        let page = service.get_workflow_execution_history(ask.clone()).await;
        let page = page.expect("the history is read").into_inner();
        if let Some(end) = page.history.and_then(|history| history.events.into_iter().next_back()) {
            assert_eq!(end.event_type(), EventType::WorkflowExecutionCompleted);
            return;
        }
        ask.next_page_token = page.next_page_token;
    }
}

fn task_queue() -> TaskQueue {
    TaskQueue { name: "raw".to_owned(), ..Default::default() }
}

async fn poll_workflow_tasks(
    mut service: Service,
    decide: impl Fn(&PollWorkflowTaskQueueResponse) -> Command,
    decided: Arc<AtomicU64>,
) {
    loop {
        let poll = PollWorkflowTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(task_queue()),
            identity: "raw".to_owned(),
            ..Default::default()
        };
        let task = service.poll_workflow_task_queue(poll).await.expect("a poll").into_inner();
        if task.task_token.is_empty() {
            continue;
        }
        let completed = RespondWorkflowTaskCompletedRequest {
            namespace: NAMESPACE.to_owned(),
            commands: vec![decide(&task)],
            task_token: task.task_token,
            identity: "raw".to_owned(),
            ..Default::default()
        };
        service.respond_workflow_task_completed(completed).await.expect("the task completes");
        decided.fetch_add(1, Ordering::Relaxed);
    }
}

/// The activity first; when it is done, the end.
fn next_command(task: &PollWorkflowTaskQueueResponse) -> Command {
    let mut events = task.history.iter().flat_map(|history| &history.events);
    if events.any(|event| event.event_type() == EventType::ActivityTaskCompleted) {
        let end = CompleteWorkflowExecutionCommandAttributes { result: None };
        return Command {
            command_type: CommandType::CompleteWorkflowExecution.into(),
            attributes: Some(Attributes::CompleteWorkflowExecutionCommandAttributes(end)),
            ..Default::default()
        };
    }
    let timeout = Duration::from_secs(60).try_into().expect("a minute is a duration");
    let activity = ScheduleActivityTaskCommandAttributes {
        activity_id: "1".to_owned(),
        activity_type: Some(ActivityType { name: "greet".to_owned() }),
        task_queue: Some(task_queue()),
        start_to_close_timeout: Some(timeout),
        ..Default::default()
    };
    Command {
        command_type: CommandType::ScheduleActivityTask.into(),
        attributes: Some(Attributes::ScheduleActivityTaskCommandAttributes(activity)),
        ..Default::default()
    }
}

fn sleep_for_a_month() -> Command {
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    let timer = StartTimerCommandAttributes {
        timer_id: "1".to_owned(),
        start_to_fire_timeout: Some(month.try_into().expect("a month is a duration")),
    };
    Command {
        command_type: CommandType::StartTimer.into(),
        attributes: Some(Attributes::StartTimerCommandAttributes(timer)),
        ..Default::default()
    }
}

async fn poll_activity_tasks(mut service: Service) {
    loop {
        let poll = PollActivityTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(task_queue()),
            identity: "raw".to_owned(),
            ..Default::default()
        };
        let task = service.poll_activity_task_queue(poll).await.expect("a poll").into_inner();
        if task.task_token.is_empty() {
            continue;
        }
        let completed = RespondActivityTaskCompletedRequest {
            namespace: NAMESPACE.to_owned(),
            task_token: task.task_token,
            identity: "raw".to_owned(),
            ..Default::default()
        };
        service.respond_activity_task_completed(completed).await.expect("the activity completes");
    }
}
