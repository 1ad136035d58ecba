//! `perennial workflow pause` and `unpause`.

use perennial_proto::temporal::workflowservice::v1::{
    PauseWorkflowExecutionRequest, UnpauseWorkflowExecutionRequest,
};

use super::default_reason;
use crate::client::Client;
use crate::input::ExecutionArgs;
use crate::session::Session;

/// Pause a workflow: no workflow tasks until it is unpaused
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Reason, stored in the history [default: the user's name]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow pause order-42 --reason "waiting for the supplier"
  perennial workflow unpause order-42
"#;

pub(super) async fn pause(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let execution = args.execution.get()?;
    let request = PauseWorkflowExecutionRequest {
        namespace: session.client.namespace.clone(),
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        identity: session.client.identity.clone(),
        reason: args.reason.unwrap_or_else(default_reason),
        request_id: Client::new_request_id(),
    };
    session.client.workflow().pause_workflow_execution(request).await?;
    session.output.success("Workflow paused")
}

pub(super) async fn unpause(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let execution = args.execution.get()?;
    let request = UnpauseWorkflowExecutionRequest {
        namespace: session.client.namespace.clone(),
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        identity: session.client.identity.clone(),
        reason: args.reason.unwrap_or_else(default_reason),
        request_id: Client::new_request_id(),
    };
    session.client.workflow().unpause_workflow_execution(request).await?;
    session.output.success("Workflow unpaused")
}
