//! `perennial activity pause`.

use perennial_proto::temporal::workflowservice::v1::PauseActivityRequest;
use perennial_proto::temporal::workflowservice::v1::pause_activity_request::Activity;

use super::ActivityRefArgs;
use crate::client::Client;
use crate::session::Session;

/// Pause an activity: no further attempts until it is unpaused
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    activity: ActivityRefArgs,

    /// Reason
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

const EXAMPLES: &str = r#"Examples:
  perennial activity pause order-42 --activity-id 5 --reason "bank is closed"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = PauseActivityRequest {
        namespace: session.client.namespace.clone(),
        execution: Some(args.activity.execution.get()?),
        identity: session.client.identity.clone(),
        reason: args.reason,
        request_id: Client::new_request_id(),
        activity: Some(Activity::Id(args.activity.activity_id)),
    };
    session.client.workflow().pause_activity(request).await?;
    session.output.success("Activity paused")
}
