//! `perennial workflow delete`.

use perennial_proto::temporal::batch::v1::BatchOperationDeletion;
use perennial_proto::temporal::workflowservice::v1::DeleteWorkflowExecutionRequest;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;

use super::target::{Target, TargetArgs, start_batch};
use crate::confirm::confirm;
use crate::session::Session;

/// Delete one workflow or many, with their histories
///
/// A running workflow is terminated first.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Reason, stored with the batch job
    #[arg(long, value_name = "TEXT", help_heading = "Many workflows", requires = "query")]
    reason: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow delete order-42 --yes
  perennial workflow delete --query 'WorkflowType = "Demo"' --yes
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    match args.target.confirmed("Delete", session).await? {
        Target::One(execution) => {
            let question = format!("Delete the workflow {}?", execution.workflow_id);
            confirm(&question, args.target.yes, &mut session.output)?;
            let request = DeleteWorkflowExecutionRequest {
                namespace: session.client.namespace.clone(),
                workflow_execution: Some(execution),
            };
            session.client.workflow().delete_workflow_execution(request).await?;
            session.output.success("Delete workflow succeeded")
        }
        Target::Many { query, rps } => {
            let identity = session.client.identity.clone();
            let operation = Operation::DeletionOperation(BatchOperationDeletion { identity });
            start_batch(query, rps, args.reason, operation, session).await
        }
    }
}
