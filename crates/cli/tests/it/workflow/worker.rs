//! A worker of the task queue `main`: small workflows, written against the raw API.

use std::thread::{self, JoinHandle};

use perennial_proto::Any;
use perennial_proto::service::workflow::workflow_service_client::WorkflowServiceClient;
use perennial_proto::temporal::command::v1::command::Attributes as A;
use perennial_proto::temporal::command::v1::{
    CancelWorkflowExecutionCommandAttributes, Command, CompleteWorkflowExecutionCommandAttributes,
    ContinueAsNewWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
    ProtocolMessageCommandAttributes, RequestCancelActivityTaskCommandAttributes,
    ScheduleActivityTaskCommandAttributes, StartChildWorkflowExecutionCommandAttributes,
    StartTimerCommandAttributes,
};
use perennial_proto::temporal::common::v1::{ActivityType, Payload, Payloads, WorkflowType};
use perennial_proto::temporal::enums::v1::{CommandType, EventType, QueryResultType};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes as E;
use perennial_proto::temporal::protocol::v1::{Message, message::SequencingId};
use perennial_proto::temporal::query::v1::{WorkflowQuery, WorkflowQueryResult};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::update::v1::{
    Acceptance, Outcome, Rejection, Request, Response, outcome,
};
use perennial_proto::temporal::workflowservice::v1::{
    PollActivityTaskQueueRequest, PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse,
    RespondQueryTaskCompletedRequest, RespondWorkflowTaskCompletedRequest,
};
use prost::Message as _;
use tokio::sync::oneshot;
use tonic::transport::Channel;

const QUEUE: &str = "main";
const CHARGES: &str = "charges";

/// Polls until it is dropped.
pub(crate) struct Worker {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn start(address: &str) -> Self {
        let (stop, stopped) = oneshot::channel();
        let address = format!("http://{address}");
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("there is room for one").block_on(async {
                tokio::select! {
                    () = poll(address.clone()) => {}
                    () = take_activities(address) => {}
                    _ = stopped => {}
                }
            });
        });
        Worker { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes activities of the queue `charges` without completing them.
async fn take_activities(address: String) {
    let Some(mut service) = connect(address).await else { return };
    loop {
        let request = PollActivityTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: Some(queue(CHARGES)),
            identity: "worker".to_owned(),
            ..PollActivityTaskQueueRequest::default()
        };
        if service.poll_activity_task_queue(request).await.is_err() {
            return;
        }
    }
}

async fn connect(address: String) -> Option<WorkflowServiceClient<Channel>> {
    let endpoint = Channel::from_shared(address).expect("it is an address");
    Some(WorkflowServiceClient::new(endpoint.connect().await.ok()?))
}

/// Completes tasks until the server stops.
async fn poll(address: String) {
    let Some(mut service) = connect(address).await else { return };
    loop {
        let request = PollWorkflowTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: Some(queue(QUEUE)),
            identity: "worker".to_owned(),
            ..PollWorkflowTaskQueueRequest::default()
        };
        let Ok(task) = service.poll_workflow_task_queue(request).await else { return };
        let task = task.into_inner();
        if !task.task_token.is_empty() {
            // A task that is no longer wanted is nobody's loss.
            let _ = answer(&mut service, task).await;
        }
    }
}

async fn answer(
    service: &mut WorkflowServiceClient<Channel>,
    task: PollWorkflowTaskQueueResponse,
) -> Result<(), tonic::Status> {
    let task_token = task.task_token.clone();
    let namespace = "default".to_owned();
    if let Some(query) = &task.query {
        let result = replied(query);
        let request = RespondQueryTaskCompletedRequest {
            task_token,
            completed_type: result.result_type,
            query_result: result.answer,
            error_message: result.error_message,
            namespace,
            ..RespondQueryTaskCompletedRequest::default()
        };
        return service.respond_query_task_completed(request).await.map(|_| ());
    }
    let (messages, mut commands) = updated(&task.messages);
    commands.extend(decide(&task));
    let request = RespondWorkflowTaskCompletedRequest {
        task_token,
        commands: commands.into_iter().map(command).collect(),
        messages,
        query_results: task.queries.iter().map(|(id, it)| (id.clone(), replied(it))).collect(),
        identity: "worker".to_owned(),
        namespace,
        ..RespondWorkflowTaskCompletedRequest::default()
    };
    service.respond_workflow_task_completed(request).await.map(|_| ())
}

/// The workflow's next commands, by its history alone.
fn decide(task: &PollWorkflowTaskQueueResponse) -> Vec<A> {
    let history = task.history.clone().unwrap_or_default().events;
    let started = history.first().and_then(|event| match event.attributes.clone()? {
        E::WorkflowExecutionStartedEventAttributes(started) => Some(started),
        _ => None,
    });
    let started = started.unwrap_or_default();
    let has = |kind: EventType| history.iter().any(|event| event.event_type() == kind);
    match task.workflow_type.clone().unwrap_or_default().name.as_str() {
        "Echo" => vec![complete(started.input)],
        "Breaks" => vec![fail("broken on purpose")],
        "Again" if started.continued_execution_run_id.is_empty() => {
            vec![A::ContinueAsNewWorkflowExecutionCommandAttributes(
                ContinueAsNewWorkflowExecutionCommandAttributes {
                    workflow_type: task.workflow_type.clone(),
                    task_queue: Some(queue(QUEUE)),
                    ..Default::default()
                },
            )]
        }
        "Again" => vec![complete(json("\"the second run\""))],
        "Waits" if has(EventType::WorkflowExecutionCancelRequested) => vec![cancel()],
        "Waits" if is_signaled(&history, "finish") => vec![complete(json("\"done\""))],
        "Parent" => parent(task, &history, has),
        _ => vec![],
    }
}

/// An activity that nobody completes, a timer and a child. The workflow ends with the result of its activity.
fn parent(
    task: &PollWorkflowTaskQueueResponse,
    history: &[HistoryEvent],
    has: impl Fn(EventType) -> bool,
) -> Vec<A> {
    let scheduled = history.iter().find(|it| it.event_type() == EventType::ActivityTaskScheduled);
    let Some(scheduled) = scheduled else {
        let id = task.workflow_execution.clone().unwrap_or_default().workflow_id;
        return vec![
            A::ScheduleActivityTaskCommandAttributes(ScheduleActivityTaskCommandAttributes {
                activity_id: "charge".to_owned(),
                activity_type: Some(ActivityType { name: "ChargeCard".to_owned() }),
                task_queue: Some(queue(CHARGES)),
                start_to_close_timeout: Some(seconds(600)),
                ..Default::default()
            }),
            A::StartTimerCommandAttributes(StartTimerCommandAttributes {
                timer_id: "reminder".to_owned(),
                start_to_fire_timeout: Some(seconds(3_600)),
            }),
            A::StartChildWorkflowExecutionCommandAttributes(
                StartChildWorkflowExecutionCommandAttributes {
                    workflow_id: format!("{id}-child"),
                    workflow_type: Some(WorkflowType { name: "Waits".to_owned() }),
                    task_queue: Some(queue(QUEUE)),
                    ..Default::default()
                },
            ),
        ];
    };
    for event in history {
        match &event.attributes {
            Some(E::ActivityTaskCompletedEventAttributes(it)) => {
                return vec![complete(it.result.clone())];
            }
            Some(E::ActivityTaskFailedEventAttributes(it)) => {
                return vec![fail(&it.failure.clone().unwrap_or_default().message)];
            }
            Some(E::ActivityTaskCanceledEventAttributes(_)) => return vec![cancel()],
            _ => {}
        }
    }
    let asked = has(EventType::WorkflowExecutionCancelRequested);
    match asked && !has(EventType::ActivityTaskCancelRequested) {
        true => vec![A::RequestCancelActivityTaskCommandAttributes(
            RequestCancelActivityTaskCommandAttributes { scheduled_event_id: scheduled.event_id },
        )],
        false => vec![],
    }
}

fn is_signaled(history: &[HistoryEvent], name: &str) -> bool {
    history.iter().any(|event| match &event.attributes {
        Some(E::WorkflowExecutionSignaledEventAttributes(it)) => it.signal_name == name,
        _ => false,
    })
}

fn replied(query: &WorkflowQuery) -> WorkflowQueryResult {
    let answer = match query.query_type.as_str() {
        "state" => json("{\"waiting\": true}"),
        "__stack_trace" => json("\"at wait (flows:12)\\nat run (flows:3)\""),
        "__temporal_workflow_metadata" => json(
            r#"{"definition": {"type": "Waits", "queryDefinitions": [{"name": "state", "description": "how it is"}],
                "signalDefinitions": [{"name": "finish"}]}, "currentDetails": "waiting"}"#,
        ),
        unknown => {
            return WorkflowQueryResult {
                result_type: QueryResultType::Failed.into(),
                error_message: format!("no query {unknown}"),
                ..WorkflowQueryResult::default()
            };
        }
    };
    WorkflowQueryResult {
        result_type: QueryResultType::Answered.into(),
        answer,
        ..WorkflowQueryResult::default()
    }
}

/// Each update is accepted and answered with what it was given, unless it is called `refuse`.
fn updated(messages: &[Message]) -> (Vec<Message>, Vec<A>) {
    let mut answers = Vec::new();
    for message in messages {
        let body = message.body.clone().unwrap_or_default();
        let Ok(request) = Request::decode(body.value.as_slice()) else { continue };
        let event_id = match message.sequencing_id {
            Some(SequencingId::EventId(event_id)) => event_id,
            _ => 0,
        };
        let input = request.input.clone().unwrap_or_default();
        let answer = |part: &str, name: &str, value: Vec<u8>| Message {
            id: format!("{}/{part}", message.id),
            protocol_instance_id: message.protocol_instance_id.clone(),
            body: Some(Any {
                type_url: format!("type.googleapis.com/temporal.api.update.v1.{name}"),
                value,
            }),
            ..Message::default()
        };
        if input.name == "refuse" {
            let rejection = Rejection {
                rejected_request_message_id: message.id.clone(),
                rejected_request_sequencing_event_id: event_id,
                rejected_request: Some(request),
                failure: Some(failure("refused")),
            };
            answers.push(answer("reject", "Rejection", rejection.encode_to_vec()));
            continue;
        }
        let acceptance = Acceptance {
            accepted_request_message_id: message.id.clone(),
            accepted_request_sequencing_event_id: event_id,
            accepted_request: Some(request.clone()),
        };
        let value = outcome::Value::Success(input.args.unwrap_or_default());
        let response =
            Response { meta: request.meta, outcome: Some(Outcome { value: Some(value) }) };
        answers.push(answer("accept", "Acceptance", acceptance.encode_to_vec()));
        answers.push(answer("complete", "Response", response.encode_to_vec()));
    }
    let said = answers.iter().map(|message| {
        A::ProtocolMessageCommandAttributes(ProtocolMessageCommandAttributes {
            message_id: message.id.clone(),
        })
    });
    let said = said.collect();
    (answers, said)
}

fn command(attributes: A) -> Command {
    let kind = match &attributes {
        A::CompleteWorkflowExecutionCommandAttributes(_) => CommandType::CompleteWorkflowExecution,
        A::FailWorkflowExecutionCommandAttributes(_) => CommandType::FailWorkflowExecution,
        A::CancelWorkflowExecutionCommandAttributes(_) => CommandType::CancelWorkflowExecution,
        A::ContinueAsNewWorkflowExecutionCommandAttributes(_) => {
            CommandType::ContinueAsNewWorkflowExecution
        }
        A::ScheduleActivityTaskCommandAttributes(_) => CommandType::ScheduleActivityTask,
        A::RequestCancelActivityTaskCommandAttributes(_) => CommandType::RequestCancelActivityTask,
        A::StartTimerCommandAttributes(_) => CommandType::StartTimer,
        A::StartChildWorkflowExecutionCommandAttributes(_) => {
            CommandType::StartChildWorkflowExecution
        }
        A::ProtocolMessageCommandAttributes(_) => CommandType::ProtocolMessage,
        _ => CommandType::Unspecified,
    };
    Command { command_type: kind.into(), attributes: Some(attributes), ..Command::default() }
}

fn complete(result: Option<Payloads>) -> A {
    let attributes = CompleteWorkflowExecutionCommandAttributes { result };
    A::CompleteWorkflowExecutionCommandAttributes(attributes)
}

fn fail(message: &str) -> A {
    let attributes = FailWorkflowExecutionCommandAttributes { failure: Some(failure(message)) };
    A::FailWorkflowExecutionCommandAttributes(attributes)
}

fn cancel() -> A {
    let attributes = CancelWorkflowExecutionCommandAttributes::default();
    A::CancelWorkflowExecutionCommandAttributes(attributes)
}

fn failure(message: &str) -> Failure {
    Failure { message: message.to_owned(), ..Failure::default() }
}

fn queue(name: &str) -> TaskQueue {
    TaskQueue { name: name.to_owned(), ..TaskQueue::default() }
}

fn seconds(seconds: i64) -> perennial_proto::Duration {
    perennial_proto::Duration { seconds, nanos: 0 }
}

fn json(text: &str) -> Option<Payloads> {
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into();
    let payload = Payload { metadata, data: text.as_bytes().to_vec(), ..Payload::default() };
    Some(Payloads { payloads: vec![payload] })
}
