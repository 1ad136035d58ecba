//! Events and effects as text: one line each, the fields that tell something.

use perennial_engine::run::{Offer, TaskRef};
use perennial_proto::store::EntityMessage;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::common::v1::Payloads;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes as A;

pub(crate) fn events(events: &[HistoryEvent]) -> String {
    events.iter().map(|event| format!("{}\n", one(event))).collect()
}

pub(crate) fn offer(run_id: &str, offer: &Offer) -> String {
    let (kind, task) = match offer.task {
        TaskRef::Workflow(task) => ("workflow task", task),
        TaskRef::Activity(task) => ("activity", task),
    };
    let sticky = if offer.sticky { " sticky" } else { "" };
    format!(
        "offer {kind} of {run_id}: event {} attempt {} on {}{sticky}\n",
        task.scheduled_event_id, task.attempt, offer.queue
    )
}

pub(crate) fn message(message: &EntityMessage) -> String {
    let target = message.target.clone().unwrap_or_default();
    let what = match &message.body {
        Some(Body::StartRun(child)) => format!("start child, event {}", child.initiated_event_id),
        Some(Body::Signal(signal)) => format!("signal, event {}", signal.initiated_event_id),
        Some(Body::Cancel(cancel)) => format!("cancel, event {}", cancel.initiated_event_id),
        Some(Body::ChildClosed(child)) => {
            format!("child closed, event {}", child.initiated_event_id)
        }
        Some(Body::ParentClosed(parent)) => format!("parent closed, {:?}", parent.policy()),
        Some(Body::Terminate(terminate)) => format!("terminate, {}", terminate.reason),
        Some(Body::ScheduledRunClosed(_)) => "scheduled run closed".to_owned(),
        None => "nothing".to_owned(),
    };
    let to = format!("{} {}", target.id, target.run_id);
    format!("send {what}, to {}\n", to.trim_end())
}

fn one(event: &HistoryEvent) -> String {
    let kind = event.event_type().as_str_name().trim_start_matches("EVENT_TYPE_");
    let name: String =
        kind.split('_').map(|word| word[..1].to_owned() + &word[1..].to_lowercase()).collect();
    let mut line = format!("{} {name}", event.event_id);
    let fields = event.attributes.as_ref().map(fields).unwrap_or_default();
    for (name, value) in fields {
        if !value.is_empty() && value != "0" {
            line += &format!(" {name}={value}");
        }
    }
    line
}

fn fields(attributes: &A) -> Vec<(&'static str, String)> {
    match attributes {
        A::WorkflowExecutionStartedEventAttributes(a) => vec![
            ("attempt", a.attempt.to_string()),
            ("backoff", duration(a.first_workflow_task_backoff.as_ref())),
            ("after", a.continued_execution_run_id.clone()),
            ("parent", a.parent_workflow_execution.clone().unwrap_or_default().run_id),
            ("failure", failure(a.continued_failure.as_ref())),
            ("last_result", payloads(a.last_completion_result.as_ref())),
        ],
        A::WorkflowExecutionCompletedEventAttributes(a) => {
            vec![("result", payloads(a.result.as_ref())), ("next", a.new_execution_run_id.clone())]
        }
        A::WorkflowExecutionFailedEventAttributes(a) => vec![
            ("failure", failure(a.failure.as_ref())),
            ("retry", format!("{:?}", a.retry_state())),
            ("next", a.new_execution_run_id.clone()),
        ],
        A::WorkflowExecutionTimedOutEventAttributes(a) => vec![
            ("retry", format!("{:?}", a.retry_state())),
            ("next", a.new_execution_run_id.clone()),
        ],
        A::WorkflowExecutionContinuedAsNewEventAttributes(a) => {
            vec![("next", a.new_execution_run_id.clone())]
        }
        A::WorkflowExecutionTerminatedEventAttributes(a) => {
            vec![("reason", quoted(&a.reason)), ("details", payloads(a.details.as_ref()))]
        }
        A::WorkflowTaskScheduledEventAttributes(a) => vec![
            ("attempt", a.attempt.to_string()),
            ("queue", a.task_queue.clone().unwrap_or_default().name),
        ],
        A::WorkflowTaskCompletedEventAttributes(a) => vec![
            ("scheduled", a.scheduled_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
        ],
        A::WorkflowTaskFailedEventAttributes(a) => vec![
            ("cause", format!("{:?}", a.cause())),
            ("failure", failure(a.failure.as_ref())),
            ("base", a.base_run_id.clone()),
            ("new", a.new_run_id.clone()),
        ],
        A::WorkflowTaskTimedOutEventAttributes(a) => {
            vec![("timeout", format!("{:?}", a.timeout_type()))]
        }
        A::ActivityTaskScheduledEventAttributes(a) => vec![("id", a.activity_id.clone())],
        A::ActivityTaskStartedEventAttributes(a) => vec![
            ("scheduled", a.scheduled_event_id.to_string()),
            ("attempt", a.attempt.to_string()),
            ("last_failure", failure(a.last_failure.as_ref())),
        ],
        A::ActivityTaskCompletedEventAttributes(a) => vec![
            ("scheduled", a.scheduled_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
        ],
        A::ActivityTaskFailedEventAttributes(a) => vec![
            ("scheduled", a.scheduled_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
            ("failure", failure(a.failure.as_ref())),
            ("retry", format!("{:?}", a.retry_state())),
        ],
        A::ActivityTaskTimedOutEventAttributes(a) => vec![
            ("scheduled", a.scheduled_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
            ("failure", failure(a.failure.as_ref())),
            ("retry", format!("{:?}", a.retry_state())),
        ],
        A::ActivityTaskCancelRequestedEventAttributes(a) => {
            vec![("scheduled", a.scheduled_event_id.to_string())]
        }
        A::ActivityTaskCanceledEventAttributes(a) => vec![
            ("scheduled", a.scheduled_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
        ],
        A::TimerStartedEventAttributes(a) => vec![("id", a.timer_id.clone())],
        A::TimerFiredEventAttributes(a) => vec![("id", a.timer_id.clone())],
        A::TimerCanceledEventAttributes(a) => vec![("id", a.timer_id.clone())],
        A::WorkflowExecutionSignaledEventAttributes(a) => vec![
            ("name", a.signal_name.clone()),
            ("from", a.external_workflow_execution.clone().unwrap_or_default().run_id),
        ],
        A::WorkflowExecutionCancelRequestedEventAttributes(a) => vec![
            ("cause", a.cause.clone()),
            ("from", a.external_workflow_execution.clone().unwrap_or_default().run_id),
        ],
        A::StartChildWorkflowExecutionInitiatedEventAttributes(a) => vec![
            ("child", a.workflow_id.clone()),
            ("namespace", a.namespace.clone()),
            ("policy", format!("{:?}", a.parent_close_policy())),
        ],
        A::StartChildWorkflowExecutionFailedEventAttributes(a) => vec![
            ("initiated", a.initiated_event_id.to_string()),
            ("cause", format!("{:?}", a.cause())),
        ],
        A::ChildWorkflowExecutionStartedEventAttributes(a) => vec![
            ("initiated", a.initiated_event_id.to_string()),
            ("run", a.workflow_execution.clone().unwrap_or_default().run_id),
        ],
        A::ChildWorkflowExecutionCompletedEventAttributes(a) => vec![
            ("initiated", a.initiated_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
            ("run", a.workflow_execution.clone().unwrap_or_default().run_id),
            ("result", payloads(a.result.as_ref())),
        ],
        A::ChildWorkflowExecutionFailedEventAttributes(a) => vec![
            ("initiated", a.initiated_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
            ("failure", failure(a.failure.as_ref())),
        ],
        A::ChildWorkflowExecutionTerminatedEventAttributes(a) => vec![
            ("initiated", a.initiated_event_id.to_string()),
            ("started", a.started_event_id.to_string()),
        ],
        A::SignalExternalWorkflowExecutionInitiatedEventAttributes(a) => {
            vec![("to", a.workflow_execution.clone().unwrap_or_default().workflow_id)]
        }
        A::SignalExternalWorkflowExecutionFailedEventAttributes(a) => vec![
            ("initiated", a.initiated_event_id.to_string()),
            ("cause", format!("{:?}", a.cause())),
        ],
        A::ExternalWorkflowExecutionSignaledEventAttributes(a) => {
            vec![("initiated", a.initiated_event_id.to_string())]
        }
        A::RequestCancelExternalWorkflowExecutionFailedEventAttributes(a) => vec![
            ("initiated", a.initiated_event_id.to_string()),
            ("cause", format!("{:?}", a.cause())),
        ],
        A::ExternalWorkflowExecutionCancelRequestedEventAttributes(a) => {
            vec![("initiated", a.initiated_event_id.to_string())]
        }
        A::WorkflowExecutionUpdateAcceptedEventAttributes(a) => {
            vec![("id", a.protocol_instance_id.clone())]
        }
        A::WorkflowExecutionUpdateAdmittedEventAttributes(a) => {
            let meta = a.request.clone().unwrap_or_default().meta.unwrap_or_default();
            vec![("id", meta.update_id), ("origin", format!("{:?}", a.origin()))]
        }
        A::WorkflowExecutionUpdateCompletedEventAttributes(a) => {
            vec![("accepted", a.accepted_event_id.to_string())]
        }
        A::WorkflowExecutionOptionsUpdatedEventAttributes(a) => vec![
            ("request", a.attached_request_id.clone()),
            ("priority", a.priority.clone().unwrap_or_default().priority_key.to_string()),
        ],
        _ => Vec::new(),
    }
}

fn duration(duration: Option<&perennial_proto::Duration>) -> String {
    match duration {
        Some(it) if it.seconds != 0 || it.nanos != 0 => {
            format!("{}s", it.seconds as f64 + f64::from(it.nanos) / 1e9)
        }
        _ => String::new(),
    }
}

fn failure(failure: Option<&Failure>) -> String {
    failure.map(|failure| quoted(&failure.message)).unwrap_or_default()
}

fn payloads(payloads: Option<&Payloads>) -> String {
    let texts = payloads.into_iter().flat_map(|payloads| &payloads.payloads);
    texts.map(|payload| String::from_utf8_lossy(&payload.data).into_owned()).collect()
}

fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text:?}") }
}
