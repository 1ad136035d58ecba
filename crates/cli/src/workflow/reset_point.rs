//! The event that a point of a history stands for.

use clap::ValueEnum;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::EventType;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use super::history::{Events, Reading};
use crate::client::Client;
use crate::failure::{Ends, Exit};

/// Where a workflow can go on from, as people say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(super) enum Point {
    FirstWorkflowTask,
    LastWorkflowTask,
    LastContinuedAsNew,
    BuildId,
}

/// The run and the event meant by the point.
pub(super) async fn event_of(
    point: Point,
    client: &Client,
    execution: WorkflowExecution,
) -> anyhow::Result<(String, i64)> {
    match point {
        Point::FirstWorkflowTask => {
            let run_id = execution.run_id.clone();
            Ok((run_id, task_end(client, execution, Reading::Forwards).await?))
        }
        Point::LastWorkflowTask | Point::BuildId => {
            let run_id = execution.run_id.clone();
            Ok((run_id, task_end(client, execution, Reading::Backwards).await?))
        }
        Point::LastContinuedAsNew => {
            let before = run_before(client, execution.clone()).await?;
            let execution = WorkflowExecution { run_id: before.clone(), ..execution };
            Ok((before, task_end(client, execution, Reading::Backwards).await?))
        }
    }
}

/// The end of the first workflow task met, or what comes after one that was scheduled and hasn't ended.
async fn task_end(
    client: &Client,
    execution: WorkflowExecution,
    reading: Reading,
) -> anyhow::Result<i64> {
    let mut events = Events::of(client, execution, reading);
    let mut scheduled = None;
    while let Some(event) = events.next().await? {
        match event.event_type() {
            EventType::WorkflowTaskCompleted => return Ok(event.event_id),
            EventType::WorkflowTaskScheduled if reading == Reading::Backwards => {
                scheduled = Some(event.event_id + 1);
            }
            EventType::WorkflowTaskScheduled => {
                scheduled = scheduled.or(Some(event.event_id + 1));
            }
            _ => {}
        }
    }
    scheduled.ok_or_else(|| nowhere("it has had no workflow task yet"))
}

/// The run that continued as this one.
async fn run_before(client: &Client, execution: WorkflowExecution) -> anyhow::Result<String> {
    let first = Events::of(client, execution, Reading::Forwards).next().await?;
    match first.and_then(|event| event.attributes) {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started))
            if !started.continued_execution_run_id.is_empty() =>
        {
            Ok(started.continued_execution_run_id)
        }
        _ => Err(nowhere("it was not continued from another run")),
    }
}

fn nowhere(why: &str) -> anyhow::Error {
    let message = format!("the workflow has no such point: {why}");
    Ends { with: Exit::Conflict, message }.into()
}
