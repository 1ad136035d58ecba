//! Workflow tasks that keep failing: attempt, cause and message.

use perennial_proto::temporal::common::v1::SearchAttributes;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_proto::temporal::workflowservice::v1::DescribeWorkflowExecutionResponse;
use serde::Serialize;

use super::history::{Events, ReadMode};
use crate::client::Client;
use crate::output::{Card, short_name};
use crate::terminal::Style;

/// The search attribute by which servers report that a workflow task keeps failing.
pub(crate) const REPORTED_PROBLEMS: &str = "TemporalReportedProblems";

/// How far back to search for the last failure. Signals may have been added to the history since.
const EVENTS_SEARCHED_MAX: usize = 200;

/// Why the workflow task of an open run is retried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskProblem {
    /// The current attempt.
    pub(crate) attempt: i32,
    /// `WorkflowTaskFailed` or `WorkflowTaskTimedOut`.
    pub(crate) category: String,
    /// `NonDeterministicError`, `StartToClose`.
    pub(crate) cause: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
}

impl TaskProblem {
    /// Reads category and cause from the run's search attributes.
    pub(crate) fn reported(attributes: Option<&SearchAttributes>) -> Option<Self> {
        let payload = attributes?.indexed_fields.get(REPORTED_PROBLEMS)?;
        let texts: Vec<String> = serde_json::from_slice(&payload.data).ok()?;
        let value = |name| texts.iter().find_map(|text| text.strip_prefix(name));
        let category = value("category=").unwrap_or_default();
        let cause = value("cause=").unwrap_or_default();
        let cause = cause.strip_prefix(category).unwrap_or(cause);
        Some(TaskProblem {
            category: category.to_owned(),
            cause: cause.strip_prefix("Cause").unwrap_or(cause).to_owned(),
            ..TaskProblem::default()
        })
    }

    /// Combines the description with the run's events, the last one first.
    pub(super) fn of<'e>(
        described: &DescribeWorkflowExecutionResponse,
        latest: impl IntoIterator<Item = &'e HistoryEvent>,
    ) -> Option<Self> {
        let mut problem = Self::suspected(described)?;
        if let Some(Some((category, cause, message))) = latest.into_iter().find_map(ended_task) {
            problem.category = category.to_owned();
            problem.cause = cause;
            problem.message = message;
        }
        (!problem.category.is_empty()).then_some(problem)
    }

    /// Fetches the events from the end of the history.
    pub(crate) async fn fetch(
        client: &Client,
        described: &DescribeWorkflowExecutionResponse,
    ) -> anyhow::Result<Option<Self>> {
        if Self::suspected(described).is_none() {
            return Ok(None);
        }
        let info = described.workflow_execution_info.clone().unwrap_or_default();
        let execution = info.execution.unwrap_or_default();
        let mut events = Events::of(client, execution, ReadMode::Backwards);
        let mut latest = Vec::new();
        while latest.len() < EVENTS_SEARCHED_MAX {
            let Some(event) = events.next().await? else { break };
            let is_the_one = ended_task(&event).is_some();
            latest.push(event);
            if is_the_one {
                break;
            }
        }
        Ok(Self::of(described, &latest))
    }

    /// An open run whose task is retried, or is reported as failing.
    fn suspected(described: &DescribeWorkflowExecutionResponse) -> Option<Self> {
        use WorkflowExecutionStatus as S;
        let info = described.workflow_execution_info.as_ref()?;
        if !matches!(info.status(), S::Running | S::Paused) {
            return None;
        }
        let attempt = described.pending_workflow_task.as_ref().map_or(0, |task| task.attempt);
        let reported = Self::reported(info.search_attributes.as_ref());
        (attempt > 1 || reported.is_some())
            .then(|| TaskProblem { attempt, ..reported.unwrap_or_default() })
    }

    pub(super) fn fill(&self, card: &mut Card) {
        card.heading("Workflow Task Problem:")
            .styled("Attempt", self.attempt.to_string(), Style::Warning)
            .styled("Category", self.category.clone(), Style::Warning)
            .styled("Cause", self.cause.clone(), Style::Warning)
            .styled("Message", self.message.clone(), Style::Warning);
    }

    /// `workflow task attempt 7: NonDeterministicError: the code has changed`.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("workflow task attempt {}: {}", self.attempt, self.cause);
        if !self.message.is_empty() {
            line.push_str(": ");
            line.push_str(&self.message);
        }
        line
    }
}

/// The end of a workflow task: `Some(None)` for success, or category, cause and message of a failure.
fn ended_task(event: &HistoryEvent) -> Option<Option<(&'static str, String, String)>> {
    use Attributes as A;
    match event.attributes.as_ref()? {
        A::WorkflowTaskCompletedEventAttributes(_) => Some(None),
        A::WorkflowTaskFailedEventAttributes(it) => {
            let cause = short_name(it.cause().as_str_name(), "WORKFLOW_TASK_FAILED_CAUSE_");
            Some(Some(("WorkflowTaskFailed", cause, message(it.failure.as_ref()))))
        }
        A::WorkflowTaskTimedOutEventAttributes(it) => {
            let cause = short_name(it.timeout_type().as_str_name(), "TIMEOUT_TYPE_");
            Some(Some(("WorkflowTaskTimedOut", cause, String::new())))
        }
        _ => None,
    }
}

fn message(failure: Option<&Failure>) -> String {
    failure.map(|it| it.message.clone()).unwrap_or_default()
}
