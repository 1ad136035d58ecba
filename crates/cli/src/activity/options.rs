//! Flags for activity options.

use std::time::Duration;

use perennial_calendar::parse_duration;
use perennial_proto::temporal::activity::v1::ActivityOptions;
use perennial_proto::temporal::common::v1::RetryPolicy;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;

use crate::input::length;

/// Options to change; the others stay as they are.
#[derive(Debug, clap::Args)]
#[group(id = "options-args")]
pub(super) struct OptionsArgs {
    /// Task queue of the workers that run it
    #[arg(long, alias = "tq", value_name = "NAME")]
    task_queue: Option<String>,

    /// Timeout of all attempts together
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    schedule_to_close_timeout: Option<Duration>,

    /// Maximum wait for a worker
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    schedule_to_start_timeout: Option<Duration>,

    /// Timeout of an attempt
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    start_to_close_timeout: Option<Duration>,

    /// Maximum time between heartbeats
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    heartbeat_timeout: Option<Duration>,

    /// Delay before the first retry
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_initial_interval: Option<Duration>,

    /// Maximum delay between retries
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_maximum_interval: Option<Duration>,

    /// Factor by which the delay grows
    #[arg(long, value_name = "FACTOR")]
    retry_backoff_coefficient: Option<f64>,

    /// Maximum number of attempts; 0 for no limit
    #[arg(long, value_name = "N")]
    retry_maximum_attempts: Option<i32>,
}

impl OptionsArgs {
    /// The options, and the field names of those given.
    pub(super) fn read(&self) -> anyhow::Result<(ActivityOptions, Vec<String>)> {
        let retry_policy = RetryPolicy {
            initial_interval: optional(self.retry_initial_interval)?,
            maximum_interval: optional(self.retry_maximum_interval)?,
            backoff_coefficient: self.retry_backoff_coefficient.unwrap_or_default(),
            maximum_attempts: self.retry_maximum_attempts.unwrap_or_default(),
            ..RetryPolicy::default()
        };
        let queue = |name: &String| TaskQueue { name: name.clone(), ..TaskQueue::default() };
        let options = ActivityOptions {
            task_queue: self.task_queue.as_ref().map(queue),
            schedule_to_close_timeout: optional(self.schedule_to_close_timeout)?,
            schedule_to_start_timeout: optional(self.schedule_to_start_timeout)?,
            start_to_close_timeout: optional(self.start_to_close_timeout)?,
            heartbeat_timeout: optional(self.heartbeat_timeout)?,
            retry_policy: Some(retry_policy),
            ..ActivityOptions::default()
        };
        let names = [
            ("task_queue.name", self.task_queue.is_some()),
            ("schedule_to_close_timeout", self.schedule_to_close_timeout.is_some()),
            ("schedule_to_start_timeout", self.schedule_to_start_timeout.is_some()),
            ("start_to_close_timeout", self.start_to_close_timeout.is_some()),
            ("heartbeat_timeout", self.heartbeat_timeout.is_some()),
            ("retry_policy.initial_interval", self.retry_initial_interval.is_some()),
            ("retry_policy.maximum_interval", self.retry_maximum_interval.is_some()),
            ("retry_policy.backoff_coefficient", self.retry_backoff_coefficient.is_some()),
            ("retry_policy.maximum_attempts", self.retry_maximum_attempts.is_some()),
        ];
        let given = names.into_iter().filter(|(_, given)| *given);
        Ok((options, given.map(|(name, _)| name.to_owned()).collect()))
    }
}

/// Converts to a protobuf duration.
pub(super) fn optional(
    given: Option<Duration>,
) -> anyhow::Result<Option<perennial_proto::Duration>> {
    given.map(length).transpose()
}
