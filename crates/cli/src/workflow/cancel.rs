//! `perennial workflow cancel`.

use perennial_proto::temporal::batch::v1::BatchOperationCancellation;
use perennial_proto::temporal::workflowservice::v1::RequestCancelWorkflowExecutionRequest;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;

use super::target::{Target, TargetArgs, start_batch};
use crate::client::Client;
use crate::session::Session;

/// Request cancellation of one workflow or many
///
/// The workflow can clean up before it ends. `terminate` ends it at once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Reason, stored in the history and visible to the workflow
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow cancel order-42
  perennial workflow cancel --query 'WorkflowType = "Import"' --reason "wrong file" --yes
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    match args.target.confirmed("Cancel", session).await? {
        Target::One(execution) => {
            let request = RequestCancelWorkflowExecutionRequest {
                namespace: session.client.namespace.clone(),
                workflow_execution: Some(execution),
                identity: session.client.identity.clone(),
                request_id: Client::new_request_id(),
                reason: args.reason.unwrap_or_default(),
                ..RequestCancelWorkflowExecutionRequest::default()
            };
            session.client.workflow().request_cancel_workflow_execution(request).await?;
            session.output.success("Canceled workflow")
        }
        Target::Many { query, rps } => {
            let identity = session.client.identity.clone();
            let operation =
                Operation::CancellationOperation(BatchOperationCancellation { identity });
            start_batch(query, rps, args.reason, operation, session).await
        }
    }
}
