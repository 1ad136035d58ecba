//! `perennial activity cancel`.

use perennial_proto::temporal::common::v1::Payloads;
use perennial_proto::temporal::workflowservice::v1::RespondActivityTaskCanceledByIdRequest;
use serde_json::Value;

use super::ActivityRefArgs;
use crate::input::{json_payload, json_value};
use crate::session::Session;

/// Report an activity as canceled, on behalf of its worker
///
/// Cancellation of the activity or of its workflow must have been requested before.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    activity: ActivityRefArgs,

    /// Reason, passed as the details of the cancellation
    #[arg(long, value_name = "TEXT", conflicts_with = "detail")]
    reason: Option<String>,

    /// Details of the cancellation
    #[arg(long, value_name = "JSON", value_parser = json_value, allow_hyphen_values = true)]
    detail: Option<Value>,
}

const EXAMPLES: &str = r#"Examples:
  perennial activity cancel order-42 --activity-id 5 --reason "its machine is gone"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let execution = args.activity.execution.get()?;
    let detail = args.detail.or(args.reason.map(Value::from));
    let request = RespondActivityTaskCanceledByIdRequest {
        namespace: session.client.namespace.clone(),
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        activity_id: args.activity.activity_id,
        details: detail.map(|detail| Payloads { payloads: vec![json_payload(&detail)] }),
        identity: session.client.identity.clone(),
        ..RespondActivityTaskCanceledByIdRequest::default()
    };
    session.client.workflow().respond_activity_task_canceled_by_id(request).await?;
    session.output.success("Activity canceled")
}
