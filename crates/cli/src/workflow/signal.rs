//! `perennial workflow signal`.

use perennial_proto::temporal::batch::v1::BatchOperationSignal;
use perennial_proto::temporal::workflowservice::v1::SignalWorkflowExecutionRequest;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;
use serde_json::Value;

use super::target::{Target, TargetArgs, start_batch};
use crate::client::Client;
use crate::input::{InputArgs, headers, json_pair};
use crate::session::Session;

/// Send a signal to one workflow or many
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Signal name
    #[arg(long, alias = "type", alias = "signal-name", value_name = "NAME")]
    name: String,

    #[command(flatten)]
    input: InputArgs,

    /// Header that workflow code sees; repeatable
    #[arg(long, value_name = "KEY=JSON", value_parser = json_pair)]
    headers: Vec<(String, Value)>,

    /// Reason, stored with the batch job
    #[arg(long, value_name = "TEXT", help_heading = "Many workflows", requires = "query")]
    reason: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow signal order-42 --name approve --input '{"by": "Ada"}'
  perennial workflow signal --query 'WorkflowType = "Order"' --name pause --reason "stocktaking"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let input = args.input.payloads()?;
    let header = headers(&args.headers);
    match args.target.confirmed("Signal", session).await? {
        Target::One(execution) => {
            let request = SignalWorkflowExecutionRequest {
                namespace: session.client.namespace.clone(),
                workflow_execution: Some(execution),
                signal_name: args.name,
                input,
                identity: session.client.identity.clone(),
                request_id: Client::new_request_id(),
                header,
                ..SignalWorkflowExecutionRequest::default()
            };
            session.client.workflow().signal_workflow_execution(request).await?;
            session.output.success("Signal workflow succeeded")
        }
        Target::Many { query, rps } => {
            let operation = Operation::SignalOperation(BatchOperationSignal {
                signal: args.name,
                input,
                header,
                identity: session.client.identity.clone(),
            });
            start_batch(query, rps, args.reason, operation, session).await
        }
    }
}
