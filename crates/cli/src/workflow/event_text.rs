//! Formats history events as text.

use perennial_proto::json::{Payloads, from_json, to_json};
use perennial_proto::temporal::common::v1::{
    ActivityType, Payload, WorkflowExecution, WorkflowType,
};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use serde_json::Value;

use crate::output::{attribute_value, duration, short_name};
use crate::terminal::Style;

/// `WorkflowTaskScheduled`.
pub(super) fn event_name(event: &HistoryEvent) -> String {
    short_name(event.event_type().as_str_name(), "EVENT_TYPE_")
}

/// Highlights failures, and dims events about workflow tasks.
pub(super) fn event_style(event: &HistoryEvent) -> Style {
    let name = event_name(event);
    if ["Failed", "TimedOut", "Terminated", "Canceled"].iter().any(|end| name.ends_with(end)) {
        return Style::Warning;
    }
    match name.starts_with("WorkflowTask") {
        true => Style::Faint,
        false => Style::Plain,
    }
}

/// A summary of the event in a few words.
pub(super) fn summary(event: &HistoryEvent) -> String {
    use Attributes as A;
    let Some(attributes) = &event.attributes else { return String::new() };
    match attributes {
        A::WorkflowExecutionStartedEventAttributes(it) => workflow_type(&it.workflow_type),
        A::WorkflowExecutionFailedEventAttributes(it) => message(&it.failure),
        A::WorkflowExecutionTerminatedEventAttributes(it) => it.reason.clone(),
        A::WorkflowExecutionCancelRequestedEventAttributes(it) => it.cause.clone(),
        A::WorkflowExecutionSignaledEventAttributes(it) => it.signal_name.clone(),
        A::WorkflowExecutionContinuedAsNewEventAttributes(it) => {
            format!("run {}", it.new_execution_run_id)
        }
        A::WorkflowTaskScheduledEventAttributes(it) => {
            if it.attempt > 1 {
                format!("attempt {}", it.attempt)
            } else {
                String::new()
            }
        }
        A::WorkflowTaskStartedEventAttributes(it) => it.identity.clone(),
        A::WorkflowTaskFailedEventAttributes(it) => {
            let cause = short_name(it.cause().as_str_name(), "WORKFLOW_TASK_FAILED_CAUSE_");
            [cause, message(&it.failure)].join(": ").trim_end_matches(": ").to_owned()
        }
        A::WorkflowTaskTimedOutEventAttributes(it) => {
            short_name(it.timeout_type().as_str_name(), "TIMEOUT_TYPE_")
        }
        A::ActivityTaskScheduledEventAttributes(it) => {
            format!("{} ({})", activity_type(&it.activity_type), it.activity_id)
        }
        A::ActivityTaskStartedEventAttributes(it) if it.attempt > 1 => {
            format!("{}, attempt {}", it.identity, it.attempt)
        }
        A::ActivityTaskStartedEventAttributes(it) => it.identity.clone(),
        A::ActivityTaskFailedEventAttributes(it) => message(&it.failure),
        A::ActivityTaskTimedOutEventAttributes(it) => message(&it.failure),
        A::TimerStartedEventAttributes(it) => {
            format!("{} ({})", duration(it.start_to_fire_timeout.as_ref()), it.timer_id)
        }
        A::TimerFiredEventAttributes(it) => it.timer_id.clone(),
        A::TimerCanceledEventAttributes(it) => it.timer_id.clone(),
        A::MarkerRecordedEventAttributes(it) => it.marker_name.clone(),
        A::StartChildWorkflowExecutionInitiatedEventAttributes(it) => {
            format!("{} ({})", workflow_type(&it.workflow_type), it.workflow_id)
        }
        A::StartChildWorkflowExecutionFailedEventAttributes(it) => it.workflow_id.clone(),
        A::ChildWorkflowExecutionStartedEventAttributes(it) => id(&it.workflow_execution),
        A::ChildWorkflowExecutionCompletedEventAttributes(it) => id(&it.workflow_execution),
        A::ChildWorkflowExecutionFailedEventAttributes(it) => {
            format!("{}: {}", id(&it.workflow_execution), message(&it.failure))
        }
        A::ChildWorkflowExecutionCanceledEventAttributes(it) => id(&it.workflow_execution),
        A::ChildWorkflowExecutionTimedOutEventAttributes(it) => id(&it.workflow_execution),
        A::ChildWorkflowExecutionTerminatedEventAttributes(it) => id(&it.workflow_execution),
        A::SignalExternalWorkflowExecutionInitiatedEventAttributes(it) => {
            format!("{} to {}", it.signal_name, id(&it.workflow_execution))
        }
        A::SignalExternalWorkflowExecutionFailedEventAttributes(it) => id(&it.workflow_execution),
        A::ExternalWorkflowExecutionSignaledEventAttributes(it) => id(&it.workflow_execution),
        A::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(it) => {
            id(&it.workflow_execution)
        }
        A::RequestCancelExternalWorkflowExecutionFailedEventAttributes(it) => {
            id(&it.workflow_execution)
        }
        A::ExternalWorkflowExecutionCancelRequestedEventAttributes(it) => {
            id(&it.workflow_execution)
        }
        A::WorkflowExecutionUpdateAcceptedEventAttributes(it) => {
            let request = it.accepted_request.clone().unwrap_or_default();
            request.input.unwrap_or_default().name
        }
        A::WorkflowExecutionUpdateCompletedEventAttributes(it) => {
            it.meta.clone().unwrap_or_default().update_id
        }
        A::WorkflowExecutionPausedEventAttributes(it) => it.reason.clone(),
        A::WorkflowExecutionUnpausedEventAttributes(it) => it.reason.clone(),
        // The name of the event says enough, or its details are too long for a line.
        _ => String::new(),
    }
}

/// All fields of the event with dotted names: `retryPolicy.maximumAttempts`.
pub(super) fn flat_fields(event: &HistoryEvent, payloads: Payloads) -> Vec<(String, String)> {
    let mut flat = Vec::new();
    let Value::Object(fields) = to_json(event, payloads) else { return flat };
    for (name, value) in fields {
        match name.as_str() {
            "eventId" | "eventType" => {}
            // The type of the event is in the heading.
            _ if name.ends_with("Attributes") => flatten("", &value, &mut flat),
            _ => flatten(&name, &value, &mut flat),
        }
    }
    flat
}

fn flatten(name: &str, value: &Value, flat: &mut Vec<(String, String)>) {
    if let Some(value) = typed_value(value) {
        return flat.push((name.to_owned(), value));
    }
    match value {
        Value::Object(fields) => {
            let before = if name.is_empty() { String::new() } else { format!("{name}.") };
            fields.iter().for_each(|(key, value)| flatten(&format!("{before}{key}"), value, flat));
        }
        Value::Array(values) => {
            for (n, value) in values.iter().enumerate() {
                flatten(&format!("{name}[{n}]"), value, flat);
            }
        }
        Value::String(text) => flat.push((name.to_owned(), text.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            flat.push((name.to_owned(), value.to_string()));
        }
    }
}

/// The value of a search attribute.
fn typed_value(value: &Value) -> Option<String> {
    // Only search attributes have a type in their metadata.
    value.get("metadata")?.get("type")?;
    let payload: Payload = from_json(value, Payloads::Full).ok()?;
    Some(match attribute_value(&payload)? {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

fn workflow_type(name: &Option<WorkflowType>) -> String {
    name.clone().unwrap_or_default().name
}

fn activity_type(name: &Option<ActivityType>) -> String {
    name.clone().unwrap_or_default().name
}

fn id(execution: &Option<WorkflowExecution>) -> String {
    execution.clone().unwrap_or_default().workflow_id
}

fn message(failure: &Option<Failure>) -> String {
    failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default()
}
