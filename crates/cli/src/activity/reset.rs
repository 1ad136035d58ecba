//! `perennial activity reset`.

use std::time::Duration;

use perennial_calendar::parse_duration;
use perennial_proto::temporal::workflowservice::v1::ResetActivityRequest;
use perennial_proto::temporal::workflowservice::v1::reset_activity_request::Activity;
use serde::Serialize;

use super::ActivityRefArgs;
use super::options::optional;
use crate::session::Session;

/// Restart an activity from its first attempt
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    activity: ActivityRefArgs,

    /// Keep the activity paused
    #[arg(long)]
    keep_paused: bool,

    /// Discard its heartbeat details
    #[arg(long, alias = "reset-heartbeats")]
    clear_heartbeat_details: bool,

    /// Restore the options it was scheduled with
    #[arg(long)]
    restore_original_options: bool,

    /// Start after a random delay up to this
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    jitter: Option<Duration>,
}

const EXAMPLES: &str = r#"Examples:
  perennial activity reset order-42 --activity-id 5 --clear-heartbeat-details
"#;

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reset {
    keep_paused: bool,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = ResetActivityRequest {
        namespace: session.client.namespace.clone(),
        execution: Some(args.activity.execution.get()?),
        identity: session.client.identity.clone(),
        reset_heartbeat: args.clear_heartbeat_details,
        keep_paused: args.keep_paused,
        jitter: optional(args.jitter)?,
        restore_original_options: args.restore_original_options,
        activity: Some(Activity::Id(args.activity.activity_id)),
    };
    session.client.workflow().reset_activity(request).await?;
    let reset = Reset { keep_paused: args.keep_paused };
    session.output.record(&reset, |output| Ok(output.line("Activity reset")?))
}
