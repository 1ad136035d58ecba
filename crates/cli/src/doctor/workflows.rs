//! Do workflows go on, or does the same workflow task fail again and again?

use perennial_proto::temporal::workflow::v1::WorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::ListWorkflowExecutionsRequest;

use tonic::Code;

use super::findings::{Findings, NAMED, named};
use crate::client::Client;
use crate::workflow::{REPORTED_PROBLEMS, TaskProblem, describe};

/// So many that fail are counted.
const LOOKED_AT: i32 = 1_000;

/// Looks for open runs of the namespace whose workflow task keeps failing.
pub(super) async fn look(client: &Client, findings: &mut Findings) {
    let request = ListWorkflowExecutionsRequest {
        namespace: client.namespace.clone(),
        page_size: LOOKED_AT,
        query: format!("{REPORTED_PROBLEMS} IS NOT NULL AND ExecutionStatus = 'Running'"),
        ..ListWorkflowExecutionsRequest::default()
    };
    let failing = match client.workflow().list_workflow_executions(request).await {
        Ok(answer) => answer.into_inner().executions,
        // Temporal's servers before 1.30 know no such attribute.
        Err(status) if status.code() == Code::InvalidArgument => {
            findings
                .remark("workflow tasks", "not looked at: this server doesn't report failing ones");
            return;
        }
        Err(status) => {
            findings.asked("workflow tasks", &status, "see the server's log");
            return;
        }
    };
    if failing.is_empty() {
        findings.good("workflow tasks", "none keeps failing");
        return;
    }
    let mut told = Vec::new();
    for (n, info) in failing.iter().enumerate() {
        told.push(match n < NAMED {
            true => one(client, info).await,
            false => String::new(),
        });
    }
    let advice = "`workflow describe` says why; a worker with mended code goes on with them";
    findings.bad("workflow tasks", format!("keep failing: {}; {advice}", named(told)));
}

/// `order-42 (NonDeterministicError, attempt 7)`.
async fn one(client: &Client, info: &WorkflowExecutionInfo) -> String {
    let execution = info.execution.clone().unwrap_or_default();
    let id = execution.workflow_id.clone();
    let reported = TaskProblem::reported(info.search_attributes.as_ref()).unwrap_or_default();
    // The list doesn't know the attempt.
    let described = describe(client, execution).await.ok();
    match described.and_then(|it| it.pending_workflow_task) {
        Some(task) => format!("{id} ({}, attempt {})", reported.cause, task.attempt),
        None => format!("{id} ({})", reported.cause),
    }
}
