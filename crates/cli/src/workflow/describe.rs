//! `perennial workflow describe`.

use perennial_proto::json::to_json;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse,
};
use serde_json::Value;

use super::describe_text::{self, HistoryDetails};
use super::history::closed;
use super::lineage::Lineage;
use super::outcome::Outcome;
use super::task_problem::TaskProblem;
use crate::client::Client;
use crate::input::ExecutionArgs;
use crate::output::{Column, Format, Row, instant};
use crate::session::Session;

/// Show the state of a workflow
///
/// Shows its status, pending activities and child workflows, and the result of a closed workflow.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Show only its reset points
    #[arg(long)]
    reset_points: bool,

    /// Show the server's response as JSON
    #[arg(long)]
    raw: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow describe order-42
  perennial workflow describe order-42 -o json | jq .pendingActivities
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let described = describe(&client, args.execution.get()?).await?;
    if args.reset_points {
        return write_reset_points(&described, session);
    }
    let info = described.workflow_execution_info.clone().unwrap_or_default();
    use WorkflowExecutionStatus as S;
    let is_open = matches!(info.status(), S::Running | S::Paused | S::Unspecified);
    // Fetch the result only if the description shows the run as closed, so that both agree.
    let close_event = match (is_open, info.execution.clone()) {
        (false, Some(execution)) => Some(closed(&client, execution, false).await?),
        _ => None,
    };
    let outcome = close_event.as_ref().and_then(Outcome::of);
    let lineage = Lineage::fetch(&client, &info).await?;
    let problem = TaskProblem::fetch(&client, &described).await?;
    let payloads = session.output.payloads;
    let mut record = to_json(&described, payloads);
    if let Value::Object(record) = &mut record {
        if let Some(outcome) = &outcome {
            record.insert("closeEvent".to_owned(), outcome.close_event(payloads));
            record.extend(outcome.result(payloads).map(|result| ("result".to_owned(), result)));
        }
        if let Some(lineage) = &lineage {
            record.insert("scheduleTriggered".to_owned(), serde_json::to_value(lineage)?);
        }
        if let Some(problem) = &problem {
            record.insert("workflowTaskProblem".to_owned(), serde_json::to_value(problem)?);
        }
    }
    if args.raw && session.output.format == Format::Table {
        session.output.format = Format::Json;
    }
    let namespace = client.namespace;
    session.output.record(&record, |output| {
        let details = HistoryDetails { outcome: outcome.as_ref(), lineage, problem };
        describe_text::write(&described, &details, &namespace, output)
    })
}

pub(crate) async fn describe(
    client: &Client,
    execution: WorkflowExecution,
) -> anyhow::Result<DescribeWorkflowExecutionResponse> {
    let request = DescribeWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        execution: Some(execution),
    };
    Ok(client.workflow().describe_workflow_execution(request).await?.into_inner())
}

fn write_reset_points(
    described: &DescribeWorkflowExecutionResponse,
    session: &mut Session,
) -> anyhow::Result<()> {
    let info = described.workflow_execution_info.clone().unwrap_or_default();
    let points = info.auto_reset_points.unwrap_or_default().points;
    let columns = ["EventId", "CreateTime", "RunId", "BuildId"].map(Column::new).to_vec();
    let mut list = session.output.list(columns);
    for point in &points {
        list.push(point, |times| {
            Row::from([
                point.first_workflow_task_completed_id.to_string(),
                times.show(instant(point.create_time.as_ref())),
                point.run_id.clone(),
                point.build_id.clone(),
            ])
        })?;
    }
    if list.finish()? == 0 {
        session
            .output
            .note("no reset points; `workflow reset --event-id` resets to any workflow task")?;
    }
    Ok(())
}
