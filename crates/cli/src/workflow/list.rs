//! `perennial workflow list`.

use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::workflow::v1::WorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::{
    ListArchivedWorkflowExecutionsRequest, ListWorkflowExecutionsRequest,
};

use super::task_problem::TaskProblem;
use crate::client::Client;
use crate::output::{Column, Row, Times, instant, short_name};
use crate::session::Session;
use crate::terminal::Style;

/// Default page size.
const PAGE_SIZE: i32 = 200;

/// List workflows
///
/// The status of a running workflow also shows the cause if its workflow task keeps failing. The filter
/// 'TemporalReportedProblems IS NOT NULL' finds such workflows.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only workflows that match this list filter
    #[arg(long, short, value_name = "FILTER", default_value = "")]
    query: String,

    /// Show at most this many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Workflows per request
    #[arg(long, alias = "ps", value_name = "N", default_value_t = PAGE_SIZE)]
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    page_size: i32,

    /// Only archived workflows
    #[arg(long)]
    archived: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow list
  perennial workflow list --query 'WorkflowType = "Order" AND ExecutionStatus = "Failed"' --limit 20
  perennial workflow list -q 'TemporalReportedProblems IS NOT NULL'
  perennial workflow list -q 'StartTime > "2026-11-01T00:00:00Z"' -o jsonl | jq -r .execution.workflowId
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let columns = vec![
        Column::new("Status"),
        Column::new("WorkflowId"),
        Column::new("Type"),
        Column::new("StartTime"),
        Column::if_room("CloseTime"),
        Column::if_room("TaskQueue"),
    ];
    let mut list = session.output.list(columns);
    let mut token = Vec::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let (workflows, next) = page(&args, &client, token).await?;
        let shown = workflows.iter().take(usize::try_from(left).unwrap_or(usize::MAX));
        for workflow in shown {
            list.push(workflow, |times| row(workflow, times))?;
            left -= 1;
        }
        if next.is_empty() {
            break;
        }
        token = next;
    }
    let written = list.finish()?;
    if written == 0 {
        let which = if args.query.is_empty() { "" } else { " that match" };
        let namespace = &client.namespace;
        session.output.note(format!("no workflows{which} in the namespace {namespace}"))?;
    }
    Ok(())
}

/// Fetches a page, and the token of the next.
async fn page(
    args: &Args,
    client: &Client,
    next_page_token: Vec<u8>,
) -> anyhow::Result<(Vec<WorkflowExecutionInfo>, Vec<u8>)> {
    let limit = args.limit.and_then(|limit| i32::try_from(limit).ok()).unwrap_or(i32::MAX);
    let page_size = args.page_size.min(limit);
    let namespace = client.namespace.clone();
    let query = args.query.clone();
    let mut service = client.workflow();
    if args.archived {
        let request =
            ListArchivedWorkflowExecutionsRequest { namespace, page_size, next_page_token, query };
        let page = service.list_archived_workflow_executions(request).await?.into_inner();
        return Ok((page.executions, page.next_page_token));
    }
    let request = ListWorkflowExecutionsRequest { namespace, page_size, next_page_token, query };
    let page = service.list_workflow_executions(request).await?.into_inner();
    Ok((page.executions, page.next_page_token))
}

fn row(workflow: &WorkflowExecutionInfo, times: &Times) -> Row {
    let status = workflow.status();
    let problem = TaskProblem::reported(workflow.search_attributes.as_ref())
        .filter(|_| status == WorkflowExecutionStatus::Running);
    let (shown, style) = match problem {
        Some(problem) => (format!("Running ({})", problem.cause), Style::Warning),
        None => (status_name(status), status_style(status)),
    };
    let cells = [
        shown,
        workflow.execution.clone().unwrap_or_default().workflow_id,
        workflow.r#type.clone().unwrap_or_default().name,
        times.show(instant(workflow.start_time.as_ref())),
        times.show(instant(workflow.close_time.as_ref())),
        workflow.task_queue.clone(),
    ];
    Row::from(cells).styled(style)
}

/// `Running`, `TimedOut`.
pub(super) fn status_name(status: WorkflowExecutionStatus) -> String {
    short_name(status.as_str_name(), "WORKFLOW_EXECUTION_STATUS_")
}

pub(super) fn status_style(status: WorkflowExecutionStatus) -> Style {
    use WorkflowExecutionStatus as S;
    match status {
        S::Running | S::Paused | S::Unspecified => Style::Plain,
        S::Failed | S::TimedOut | S::Terminated | S::Canceled => Style::Warning,
        S::Completed | S::ContinuedAsNew => Style::Faint,
    }
}
