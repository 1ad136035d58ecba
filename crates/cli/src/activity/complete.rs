//! `perennial activity complete`.

use perennial_proto::temporal::common::v1::Payloads;
use perennial_proto::temporal::workflowservice::v1::RespondActivityTaskCompletedByIdRequest;
use serde_json::Value;

use super::ActivityRefArgs;
use crate::input::{json_payload, json_value};
use crate::session::Session;

/// Complete an activity, on behalf of its worker
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    activity: ActivityRefArgs,

    /// Result as JSON
    #[arg(long, value_name = "JSON", value_parser = json_value, allow_hyphen_values = true)]
    result: Value,
}

const EXAMPLES: &str = r#"Examples:
  perennial activity complete order-42 --activity-id 5 --result '{"paid": true}'
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let execution = args.activity.execution.get()?;
    let request = RespondActivityTaskCompletedByIdRequest {
        namespace: session.client.namespace.clone(),
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        activity_id: args.activity.activity_id,
        result: Some(Payloads { payloads: vec![json_payload(&args.result)] }),
        identity: session.client.identity.clone(),
        ..RespondActivityTaskCompletedByIdRequest::default()
    };
    session.client.workflow().respond_activity_task_completed_by_id(request).await?;
    session.output.success("Activity completed")
}
