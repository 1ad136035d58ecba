//! The options of an activity, as flags change them.

use std::time::Duration;

use perennial_calendar::parse_duration;
use perennial_proto::temporal::activity::v1::ActivityOptions;
use perennial_proto::temporal::common::v1::RetryPolicy;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;

use crate::input::length;

/// What changes; the rest stays as it is.
#[derive(Debug, clap::Args)]
#[group(id = "options-args")]
pub(super) struct OptionsArgs {
    /// Task queue whose workers run it
    #[arg(long, alias = "tq", value_name = "NAME")]
    task_queue: Option<String>,

    /// How long all attempts may take together
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    schedule_to_close_timeout: Option<Duration>,

    /// How long it may wait for a worker
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    schedule_to_start_timeout: Option<Duration>,

    /// How long an attempt may take
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    start_to_close_timeout: Option<Duration>,

    /// How long there may be between two heartbeats
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    heartbeat_timeout: Option<Duration>,

    /// How long to wait before the first retry
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_initial_interval: Option<Duration>,

    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_maximum_interval: Option<Duration>,

    /// How much longer to wait each time
    #[arg(long, value_name = "FACTOR")]
    retry_backoff_coefficient: Option<f64>,

    /// How many attempts there are; 0 for any number
    #[arg(long, value_name = "N")]
    retry_maximum_attempts: Option<i32>,
}

impl OptionsArgs {
    /// The options, and the names of those that were given.
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

/// A length of time as messages have it, if there is one.
pub(super) fn optional(
    given: Option<Duration>,
) -> anyhow::Result<Option<perennial_proto::Duration>> {
    given.map(length).transpose()
}
