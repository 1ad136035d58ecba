//! `perennial activity unpause`.

use std::time::Duration;

use perennial_calendar::parse_duration;
use perennial_proto::temporal::workflowservice::v1::UnpauseActivityRequest;
use perennial_proto::temporal::workflowservice::v1::unpause_activity_request::Activity;

use super::ActivityRefArgs;
use super::options::optional;
use crate::session::Session;

/// Unpause an activity
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    activity: ActivityRefArgs,

    /// Reset its attempts
    #[arg(long)]
    reset_attempts: bool,

    /// Discard its heartbeat details
    #[arg(long, alias = "reset-heartbeats")]
    reset_heartbeat: bool,

    /// Start after a random delay up to this
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    jitter: Option<Duration>,
}

const EXAMPLES: &str = r#"Examples:
  perennial activity unpause order-42 --activity-id 5 --reset-attempts
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = UnpauseActivityRequest {
        namespace: session.client.namespace.clone(),
        execution: Some(args.activity.execution.get()?),
        identity: session.client.identity.clone(),
        reset_attempts: args.reset_attempts,
        reset_heartbeat: args.reset_heartbeat,
        jitter: optional(args.jitter)?,
        activity: Some(Activity::Id(args.activity.activity_id)),
    };
    session.client.workflow().unpause_activity(request).await?;
    session.output.success("Activity unpaused")
}
