//! `perennial activity update-options`.

use perennial_proto::temporal::workflowservice::v1::UpdateActivityOptionsRequest;
use perennial_proto::temporal::workflowservice::v1::update_activity_options_request::Activity;
use serde::Serialize;

use super::ActivityRefArgs;
use super::options::OptionsArgs;
use crate::failure::Usage;
use crate::output::{Card, duration};
use crate::session::Session;

/// Change the options of a pending activity
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    activity: ActivityRefArgs,

    #[command(flatten)]
    options: OptionsArgs,

    /// Restore the options it was scheduled with
    #[arg(long)]
    restore_original_options: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial activity update-options order-42 --activity-id 5 --start-to-close-timeout 5m
  perennial activity update-options order-42 --activity-id 5 --restore-original-options
"#;

/// JSON output, as in Temporal's command line: durations are in nanoseconds.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Options {
    task_queue: String,
    schedule_to_close_timeout: i64,
    schedule_to_start_timeout: i64,
    start_to_close_timeout: i64,
    heartbeat_timeout: i64,
    initial_interval: i64,
    backoff_coefficient: f64,
    maximum_interval: i64,
    maximum_attempts: i32,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let (options, names) = args.options.read()?;
    if names.is_empty() && !args.restore_original_options {
        let message =
            "nothing to change: give at least one flag, such as --start-to-close-timeout 5m";
        return Err(Usage::new(message).into());
    }
    let mut request = UpdateActivityOptionsRequest {
        namespace: session.client.namespace.clone(),
        execution: Some(args.activity.execution.get()?),
        identity: session.client.identity.clone(),
        restore_original: args.restore_original_options,
        activity: Some(Activity::Id(args.activity.activity_id)),
        ..UpdateActivityOptionsRequest::default()
    };
    if !names.is_empty() {
        request.activity_options = Some(options);
        request.update_mask.get_or_insert_default().paths = names;
    }
    let answer = session.client.workflow().update_activity_options(request).await?.into_inner();
    let now = answer.activity_options.unwrap_or_default();
    let retry = now.retry_policy.clone().unwrap_or_default();
    let options = Options {
        task_queue: now.task_queue.clone().unwrap_or_default().name,
        schedule_to_close_timeout: nanos(now.schedule_to_close_timeout.as_ref()),
        schedule_to_start_timeout: nanos(now.schedule_to_start_timeout.as_ref()),
        start_to_close_timeout: nanos(now.start_to_close_timeout.as_ref()),
        heartbeat_timeout: nanos(now.heartbeat_timeout.as_ref()),
        initial_interval: nanos(retry.initial_interval.as_ref()),
        backoff_coefficient: retry.backoff_coefficient,
        maximum_interval: nanos(retry.maximum_interval.as_ref()),
        maximum_attempts: retry.maximum_attempts,
    };
    session.output.record(&options, |output| {
        let mut card = Card::default();
        card.heading("Activity options:")
            .field("TaskQueue", &options.task_queue)
            .field("ScheduleToCloseTimeout", duration(now.schedule_to_close_timeout.as_ref()))
            .field("ScheduleToStartTimeout", duration(now.schedule_to_start_timeout.as_ref()))
            .field("StartToCloseTimeout", duration(now.start_to_close_timeout.as_ref()))
            .field("HeartbeatTimeout", duration(now.heartbeat_timeout.as_ref()))
            .field("InitialInterval", duration(retry.initial_interval.as_ref()))
            .field("BackoffCoefficient", options.backoff_coefficient.to_string())
            .field("MaximumInterval", duration(retry.maximum_interval.as_ref()))
            .field(
                "MaximumAttempts",
                match options.maximum_attempts {
                    0 => "unlimited".to_owned(),
                    most => most.to_string(),
                },
            );
        Ok(output.card(&card)?)
    })
}

fn nanos(length: Option<&perennial_proto::Duration>) -> i64 {
    let Some(length) = length else { return 0 };
    length.seconds.saturating_mul(1_000_000_000).saturating_add(length.nanos.into())
}
