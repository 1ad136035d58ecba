//! The outcome of a closed workflow.

use perennial_proto::json::{Payloads as PayloadsAs, to_json};
use perennial_proto::temporal::common::v1::Payloads;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Exit, ExitError};
use crate::output::{Card, Output, duration};
use crate::terminal::Style;

/// The outcome of a run, from its close event.
#[derive(Debug)]
pub(super) struct Outcome<'e> {
    event: &'e HistoryEvent,
    pub(super) status: &'static str,
    result: Option<&'e Payloads>,
    failure: Option<&'e Failure>,
    reason: &'e str,
}

/// JSON output for a closed workflow, with the field names of Temporal's command line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    pub(super) workflow_id: String,
    pub(super) run_id: String,
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub(super) workflow_type: String,
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) task_queue: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) duration_millis: u64,
    pub(super) status: &'static str,
    pub(super) close_event: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<Value>,
}

impl<'e> Outcome<'e> {
    /// `None` if the event is no close event.
    pub(super) fn of(event: &'e HistoryEvent) -> Option<Self> {
        let outcome = |status| Outcome { event, status, result: None, failure: None, reason: "" };
        Some(match event.attributes.as_ref()? {
            Attributes::WorkflowExecutionCompletedEventAttributes(completed) => {
                Outcome { result: completed.result.as_ref(), ..outcome("COMPLETED") }
            }
            Attributes::WorkflowExecutionFailedEventAttributes(failed) => {
                Outcome { failure: failed.failure.as_ref(), ..outcome("FAILED") }
            }
            Attributes::WorkflowExecutionTimedOutEventAttributes(_) => outcome("TIMEOUT"),
            Attributes::WorkflowExecutionCanceledEventAttributes(_) => outcome("CANCELED"),
            Attributes::WorkflowExecutionTerminatedEventAttributes(terminated) => {
                Outcome { reason: &terminated.reason, ..outcome("TERMINATED") }
            }
            Attributes::WorkflowExecutionContinuedAsNewEventAttributes(_) => {
                outcome("CONTINUED_AS_NEW")
            }
            _ => return None,
        })
    }

    /// The result as JSON; `None` unless the workflow completed.
    pub(super) fn result(&self, payloads: PayloadsAs) -> Option<Value> {
        let completed = self.status == "COMPLETED";
        completed.then(|| self.result.map_or(Value::Null, |result| friendly(result, payloads)))
    }

    pub(super) fn close_event(&self, payloads: PayloadsAs) -> Value {
        to_json(self.event, payloads)
    }

    /// Adds the outcome to a card.
    pub(super) fn fill(&self, card: &mut Card, run_time: String) {
        card.heading("Results:").field("RunTime", run_time);
        let style = if self.status == "COMPLETED" { Style::Plain } else { Style::Warning };
        card.styled("Status", self.status, style);
        if let Some(result) = self.result {
            card.field("Result", friendly(result, PayloadsAs::Shorthand).to_string());
            let encoding = result.payloads.first().and_then(|it| it.metadata.get("encoding"));
            let encoding = encoding.map(|it| String::from_utf8_lossy(it).into_owned());
            card.field("ResultEncoding", encoding.unwrap_or_default());
        }
        card.field("Failure", self.failure.map(failure_text).unwrap_or_default());
        card.field("Reason", self.reason);
    }

    pub(super) fn write(&self, output: &mut Output, run_time: String) -> anyhow::Result<()> {
        let mut card = Card::default();
        self.fill(&mut card, run_time);
        Ok(output.card(&card)?)
    }

    /// Fails unless the workflow completed.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.status == "COMPLETED" {
            return Ok(());
        }
        let why = match (self.failure, self.reason) {
            (Some(failure), _) => format!(": {}", failure.message),
            (None, "") => String::new(),
            (None, reason) => format!(": {reason}"),
        };
        let ended = self.status.to_lowercase().replace('_', " ");
        let message = match self.status {
            "FAILED" => format!("workflow failed{why}"),
            _ => format!("workflow failed ({ended}){why}"),
        };
        Err(ExitError { exit: Exit::Failed, message }.into())
    }
}

/// Payloads as JSON: one value as it is, several as a list.
pub(super) fn friendly(values: &Payloads, payloads: PayloadsAs) -> Value {
    match values.payloads.as_slice() {
        [one] => to_json(one, payloads),
        _ => to_json(values, payloads),
    }
}

/// The failure's message, stack trace and causes.
pub(super) fn failure_text(failure: &Failure) -> String {
    let mut text = String::new();
    let mut indent = String::new();
    let mut next = Some(failure);
    while let Some(failure) = next {
        text.push_str(&format!("{indent}Message: {}\n", failure.message));
        for (n, line) in failure.stack_trace.lines().enumerate() {
            let head = if n == 0 { format!("{indent}StackTrace:\n") } else { String::new() };
            text.push_str(&format!("{head}{indent}    {line}\n"));
        }
        next = failure.cause.as_deref();
        if next.is_some() {
            text.push_str(&format!("{indent}Cause:\n"));
            indent.push_str("    ");
        }
    }
    text.trim_end().to_owned()
}

/// Formats a duration in milliseconds: `150ms`, `1m2s`.
pub(super) fn run_time(millis: u64) -> String {
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let nanos = i32::try_from(millis * 1_000_000).unwrap_or_default();
    match (seconds, nanos) {
        (0, 0) => "0ms".to_owned(),
        (seconds, nanos) => duration(Some(&perennial_proto::Duration { seconds, nanos })),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
