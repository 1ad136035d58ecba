//! Checks for workflow tasks that keep failing.

use perennial_proto::temporal::workflow::v1::WorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::ListWorkflowExecutionsRequest;

use tonic::Code;

use super::findings::{Findings, NAMES_LISTED_MAX, join_names};
use crate::client::Client;
use crate::workflow::{REPORTED_PROBLEMS, TaskProblem, describe};

/// Failing workflows counted.
const WORKFLOWS_MAX: i32 = 1_000;

/// Finds open runs of the namespace whose workflow task keeps failing.
pub(super) async fn check(client: &Client, findings: &mut Findings) {
    let request = ListWorkflowExecutionsRequest {
        namespace: client.namespace.clone(),
        page_size: WORKFLOWS_MAX,
        query: format!("{REPORTED_PROBLEMS} IS NOT NULL AND ExecutionStatus = 'Running'"),
        ..ListWorkflowExecutionsRequest::default()
    };
    let failing = match client.workflow().list_workflow_executions(request).await {
        Ok(answer) => answer.into_inner().executions,
        // Temporal's servers before 1.30 don't have the search attribute.
        Err(status) if status.code() == Code::InvalidArgument => {
            findings.notice(
                "workflow tasks",
                "not checked: this server doesn't report failing workflow tasks",
            );
            return;
        }
        Err(status) => {
            findings.request_failed("workflow tasks", &status, "see the server's log");
            return;
        }
    };
    if failing.is_empty() {
        findings.good("workflow tasks", "none keeps failing");
        return;
    }
    let mut names = Vec::new();
    for (n, info) in failing.iter().enumerate() {
        names.push(match n < NAMES_LISTED_MAX {
            true => one(client, info).await,
            false => String::new(),
        });
    }
    let advice = "`workflow describe` says why; deploy a fixed worker, and they continue";
    findings.bad("workflow tasks", format!("keep failing: {}; {advice}", join_names(names)));
}

/// `order-42 (NonDeterministicError, attempt 7)`.
async fn one(client: &Client, info: &WorkflowExecutionInfo) -> String {
    let execution = info.execution.clone().unwrap_or_default();
    let id = execution.workflow_id.clone();
    let reported = TaskProblem::reported(info.search_attributes.as_ref()).unwrap_or_default();
    // The list doesn't include the attempt.
    let described = describe(client, execution).await.ok();
    match described.and_then(|it| it.pending_workflow_task) {
        Some(task) => format!("{id} ({}, attempt {})", reported.cause, task.attempt),
        None => format!("{id} ({})", reported.cause),
    }
}
