//! Finds the event of a reset point, such as the last workflow task.

use clap::ValueEnum;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::EventType;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use super::history::{Events, ReadMode};
use crate::client::Client;
use crate::failure::{Exit, ExitError};

/// A reset point, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(super) enum Point {
    FirstWorkflowTask,
    LastWorkflowTask,
    LastContinuedAsNew,
    BuildId,
}

/// The run and the event of the reset point.
pub(super) async fn event_of(
    point: Point,
    client: &Client,
    execution: WorkflowExecution,
) -> anyhow::Result<(String, i64)> {
    match point {
        Point::FirstWorkflowTask => {
            let run_id = execution.run_id.clone();
            Ok((run_id, task_end(client, execution, ReadMode::Forwards).await?))
        }
        Point::LastWorkflowTask | Point::BuildId => {
            let run_id = execution.run_id.clone();
            Ok((run_id, task_end(client, execution, ReadMode::Backwards).await?))
        }
        Point::LastContinuedAsNew => {
            let before = run_before(client, execution.clone()).await?;
            let execution = WorkflowExecution { run_id: before.clone(), ..execution };
            Ok((before, task_end(client, execution, ReadMode::Backwards).await?))
        }
    }
}

/// The end of the first workflow task found, or the event after one that is scheduled and hasn't ended.
async fn task_end(
    client: &Client,
    execution: WorkflowExecution,
    mode: ReadMode,
) -> anyhow::Result<i64> {
    let mut events = Events::of(client, execution, mode);
    let mut scheduled = None;
    while let Some(event) = events.next().await? {
        match event.event_type() {
            EventType::WorkflowTaskCompleted => return Ok(event.event_id),
            EventType::WorkflowTaskScheduled if mode == ReadMode::Backwards => {
                scheduled = Some(event.event_id + 1);
            }
            EventType::WorkflowTaskScheduled => {
                scheduled = scheduled.or(Some(event.event_id + 1));
            }
            _ => {}
        }
    }
    scheduled.ok_or_else(|| no_such_point("it has had no workflow task yet"))
}

/// The run that this one continues.
async fn run_before(client: &Client, execution: WorkflowExecution) -> anyhow::Result<String> {
    let first = Events::of(client, execution, ReadMode::Forwards).next().await?;
    match first.and_then(|event| event.attributes) {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started))
            if !started.continued_execution_run_id.is_empty() =>
        {
            Ok(started.continued_execution_run_id)
        }
        _ => Err(no_such_point("it was not continued from another run")),
    }
}

fn no_such_point(why: &str) -> anyhow::Error {
    let message = format!("the workflow has no such reset point: {why}");
    ExitError { exit: Exit::Conflict, message }.into()
}
