//! `perennial activity fail`.

use perennial_proto::temporal::common::v1::Payloads;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::failure::v1::{ApplicationFailureInfo, Failure};
use perennial_proto::temporal::workflowservice::v1::RespondActivityTaskFailedByIdRequest;
use serde_json::Value;

use super::ActivityRefArgs;
use crate::input::{json_payload, json_value};
use crate::session::Session;

/// Fail an activity without retry, on behalf of its worker
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    activity: ActivityRefArgs,

    /// Reason, used as the failure message
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,

    /// Details of the failure
    #[arg(long, value_name = "JSON", value_parser = json_value, allow_hyphen_values = true)]
    detail: Option<Value>,
}

const EXAMPLES: &str = r#"Examples:
  perennial activity fail order-42 --activity-id 5 --reason "card declined" --detail '{"code": 51}'
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let execution = args.activity.execution.get()?;
    let details = args.detail.map(|detail| Payloads { payloads: vec![json_payload(&detail)] });
    let info = ApplicationFailureInfo {
        non_retryable: true,
        details,
        ..ApplicationFailureInfo::default()
    };
    let request = RespondActivityTaskFailedByIdRequest {
        namespace: session.client.namespace.clone(),
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        activity_id: args.activity.activity_id,
        failure: Some(Failure {
            message: args.reason,
            source: "CLI".to_owned(),
            failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
            ..Failure::default()
        }),
        identity: session.client.identity.clone(),
        ..RespondActivityTaskFailedByIdRequest::default()
    };
    session.client.workflow().respond_activity_task_failed_by_id(request).await?;
    session.output.success("Activity failed")
}
