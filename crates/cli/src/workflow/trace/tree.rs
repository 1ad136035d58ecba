//! Builds a workflow's tree of steps from its history.

use perennial_proto::Timestamp as Stamp;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_proto::temporal::workflowservice::v1::DescribeWorkflowExecutionResponse;
use serde::Serialize;

use super::super::describe_text::activity_state;
use super::super::lineage::Lineage;
use super::super::list::status_name;
use super::super::task_problem::TaskProblem;
use crate::output::{duration, instant, serialize_instant};

/// A workflow and its steps, in order of their start.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Workflow {
    pub(super) workflow_id: String,
    pub(super) run_id: String,
    #[serde(rename = "type")]
    pub(super) workflow_type: String,
    pub(super) status: String,
    #[serde(serialize_with = "serialize_instant")]
    pub(super) start_time: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_instant")]
    pub(super) close_time: Option<jiff::Timestamp>,
    /// The schedule that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schedule_triggered: Option<Lineage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workflow_task_problem: Option<TaskProblem>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<Step>,
}

/// An activity, timer or child workflow that a workflow started.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) status: String,
    #[serde(serialize_with = "serialize_instant")]
    pub(super) start_time: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_instant")]
    pub(super) close_time: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "is_first")]
    pub(super) attempt: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) failure: String,
    /// The run id of a child that has started.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) run_id: String,
    /// The child workflow's own tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workflow: Option<Workflow>,
    #[serde(skip)]
    event_id: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    #[default]
    Activity,
    Timer,
    Child,
}

impl Workflow {
    pub(super) fn is_closed(&self) -> bool {
        self.close_time.is_some()
    }

    /// Builds the tree from the description and the history.
    pub(super) fn read(
        described: &DescribeWorkflowExecutionResponse,
        history: &[HistoryEvent],
    ) -> Self {
        let info = described.workflow_execution_info.clone().unwrap_or_default();
        let execution = info.execution.clone().unwrap_or_default();
        let mut workflow = Workflow {
            workflow_id: execution.workflow_id,
            run_id: execution.run_id,
            workflow_type: info.r#type.clone().unwrap_or_default().name,
            status: status_name(info.status()),
            start_time: instant(info.start_time.as_ref()),
            close_time: instant(info.close_time.as_ref()),
            schedule_triggered: history.first().and_then(Lineage::of),
            workflow_task_problem: TaskProblem::of(described, history.iter().rev()),
            steps: Vec::new(),
        };
        history.iter().for_each(|event| workflow.add(event));
        // Failed attempts that are retried have no event: their number is in the description.
        for pending in &described.pending_activities {
            let id = &pending.activity_id;
            let steps = workflow.steps.iter_mut();
            let mut open = steps.filter(|step| step.kind == Kind::Activity && step.is_open());
            if let Some(step) = open.find(|step| step.id == *id) {
                step.status = match pending.paused {
                    true => "Paused".to_owned(),
                    false => activity_state(pending.state()),
                };
                step.attempt = pending.attempt;
                step.failure = message(pending.last_failure.as_ref());
            }
        }
        workflow
    }

    fn add(&mut self, event: &HistoryEvent) {
        use Attributes as A;
        let Some(attributes) = &event.attributes else { return };
        let time = event.event_time.as_ref();
        match attributes {
            A::ActivityTaskScheduledEventAttributes(it) => {
                let name = it.activity_type.clone().unwrap_or_default().name;
                self.begin(Kind::Activity, &it.activity_id, name, "Scheduled", event);
            }
            A::ActivityTaskStartedEventAttributes(it) => {
                if let Some(step) = self.step(it.scheduled_event_id) {
                    step.status = "Started".to_owned();
                    step.attempt = it.attempt;
                }
            }
            A::ActivityTaskCompletedEventAttributes(it) => {
                self.end(it.scheduled_event_id, "Completed", None, time);
            }
            A::ActivityTaskFailedEventAttributes(it) => {
                self.end(it.scheduled_event_id, "Failed", it.failure.as_ref(), time);
            }
            A::ActivityTaskTimedOutEventAttributes(it) => {
                self.end(it.scheduled_event_id, "TimedOut", it.failure.as_ref(), time);
            }
            A::ActivityTaskCanceledEventAttributes(it) => {
                self.end(it.scheduled_event_id, "Canceled", None, time);
            }
            A::TimerStartedEventAttributes(it) => {
                let name = duration(it.start_to_fire_timeout.as_ref());
                self.begin(Kind::Timer, &it.timer_id, name, "Waiting", event);
            }
            A::TimerFiredEventAttributes(it) => {
                self.end(it.started_event_id, "Fired", None, time);
            }
            A::TimerCanceledEventAttributes(it) => {
                self.end(it.started_event_id, "Canceled", None, time);
            }
            A::StartChildWorkflowExecutionInitiatedEventAttributes(it) => {
                let name = it.workflow_type.clone().unwrap_or_default().name;
                self.begin(Kind::Child, &it.workflow_id, name, "Starting", event);
            }
            A::StartChildWorkflowExecutionFailedEventAttributes(it) => {
                self.end(it.initiated_event_id, "NotStarted", None, time);
            }
            A::ChildWorkflowExecutionStartedEventAttributes(it) => {
                if let Some(step) = self.step(it.initiated_event_id) {
                    step.status = "Running".to_owned();
                    step.run_id = it.workflow_execution.clone().unwrap_or_default().run_id;
                }
            }
            A::ChildWorkflowExecutionCompletedEventAttributes(it) => {
                self.end(it.initiated_event_id, "Completed", None, time);
            }
            A::ChildWorkflowExecutionFailedEventAttributes(it) => {
                self.end(it.initiated_event_id, "Failed", it.failure.as_ref(), time);
            }
            A::ChildWorkflowExecutionCanceledEventAttributes(it) => {
                self.end(it.initiated_event_id, "Canceled", None, time);
            }
            A::ChildWorkflowExecutionTimedOutEventAttributes(it) => {
                self.end(it.initiated_event_id, "TimedOut", None, time);
            }
            A::ChildWorkflowExecutionTerminatedEventAttributes(it) => {
                self.end(it.initiated_event_id, "Terminated", None, time);
            }
            // Other events neither start nor end a step.
            _ => {}
        }
    }

    fn begin(&mut self, kind: Kind, id: &str, name: String, status: &str, event: &HistoryEvent) {
        self.steps.push(Step {
            kind,
            id: id.to_owned(),
            name,
            status: status.to_owned(),
            start_time: instant(event.event_time.as_ref()),
            attempt: 1,
            event_id: event.event_id,
            ..Step::default()
        });
    }

    fn end(&mut self, begun: i64, status: &str, failure: Option<&Failure>, time: Option<&Stamp>) {
        if let Some(step) = self.step(begun) {
            step.status = status.to_owned();
            step.failure = message(failure);
            step.close_time = instant(time);
        }
    }

    fn step(&mut self, begun: i64) -> Option<&mut Step> {
        self.steps.iter_mut().rev().find(|step| step.event_id == begun)
    }
}

impl Step {
    fn is_open(&self) -> bool {
        self.close_time.is_none()
    }

    /// The execution of a child that has started.
    pub(super) fn child(&self) -> Option<WorkflowExecution> {
        let begun = self.kind == Kind::Child && !self.run_id.is_empty();
        begun.then(|| WorkflowExecution {
            workflow_id: self.id.clone(),
            run_id: self.run_id.clone(),
        })
    }
}

/// The message of the root cause, which says most.
fn message(failure: Option<&Failure>) -> String {
    let Some(mut failure) = failure else { return String::new() };
    while let Some(cause) = failure.cause.as_deref() {
        failure = cause;
    }
    failure.message.clone()
}

fn is_first(attempt: &i32) -> bool {
    *attempt <= 1
}
