//! `perennial workflow update-options`.

use perennial_proto::temporal::common::v1::Priority;
use perennial_proto::temporal::workflow::v1::WorkflowExecutionOptions;
use perennial_proto::temporal::workflowservice::v1::UpdateWorkflowExecutionOptionsRequest;

use crate::input::ExecutionArgs;
use crate::output::Card;
use crate::session::Session;

/// Change the priority of a running workflow
///
/// Perennial has no worker deployments, so there are no versioning overrides.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Priority of its tasks, 1 (highest) to 5 (lowest)
    #[arg(long, value_name = "N")]
    priority_key: i32,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow update-options order-42 --priority-key 1
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = &session.client;
    let priority = Priority { priority_key: args.priority_key, ..Priority::default() };
    let mut request = UpdateWorkflowExecutionOptionsRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(args.execution.get()?),
        workflow_execution_options: Some(WorkflowExecutionOptions {
            priority: Some(priority),
            ..WorkflowExecutionOptions::default()
        }),
        identity: client.identity.clone(),
        ..UpdateWorkflowExecutionOptionsRequest::default()
    };
    let mask = request.update_mask.get_or_insert_default();
    mask.paths.push("priority.priority_key".to_owned());
    let answer = client.workflow().update_workflow_execution_options(request).await?.into_inner();
    session.output.message(&answer, |output| {
        let options = answer.workflow_execution_options.clone().unwrap_or_default();
        let priority = options.priority.unwrap_or_default();
        let mut card = Card::default();
        card.heading("Workflow options:").field("PriorityKey", priority.priority_key.to_string());
        Ok(output.card(&card)?)
    })
}
