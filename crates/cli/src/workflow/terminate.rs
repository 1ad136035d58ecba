//! `perennial workflow terminate`.

use perennial_proto::temporal::batch::v1::BatchOperationTermination;
use perennial_proto::temporal::workflowservice::v1::TerminateWorkflowExecutionRequest;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;

use super::default_reason;
use super::target::{Target, TargetArgs, start_batch};
use crate::session::Session;

/// Terminate one workflow or many
///
/// The workflow ends at once, without cleanup. `cancel` lets it clean up.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Reason, stored in the history [default: the user's name]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow terminate order-42 --reason "paid twice"
  perennial workflow terminate --query 'TaskQueue = "old"' --rps 50
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    match args.target.confirmed("Terminate", session).await? {
        Target::One(execution) => {
            let request = TerminateWorkflowExecutionRequest {
                namespace: session.client.namespace.clone(),
                workflow_execution: Some(execution),
                reason: args.reason.unwrap_or_else(default_reason),
                identity: session.client.identity.clone(),
                ..TerminateWorkflowExecutionRequest::default()
            };
            session.client.workflow().terminate_workflow_execution(request).await?;
            session.output.success("Workflow terminated")
        }
        Target::Many { query, rps } => {
            let operation = Operation::TerminationOperation(BatchOperationTermination {
                identity: session.client.identity.clone(),
                ..BatchOperationTermination::default()
            });
            start_batch(query, rps, args.reason, operation, session).await
        }
    }
}
