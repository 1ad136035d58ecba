//! Pausing, unpausing, resetting and changing pending activities.

use perennial_engine::run::{
    ActivityChange, ActivityOptions, ActivitySelection, ChangeActivities, Command, Run,
};
use perennial_engine::{Span, checked_duration};
use perennial_proto::Duration;
use perennial_proto::store::{PendingActivity, RunName};
use perennial_proto::temporal::activity::v1 as api;
use perennial_proto::temporal::enums::v1::TaskQueueKind;
use perennial_proto::temporal::workflowservice::v1::{
    PauseActivityRequest, PauseActivityResponse, ResetActivityRequest, ResetActivityResponse,
    UnpauseActivityRequest, UnpauseActivityResponse, UpdateActivityOptionsRequest,
    UpdateActivityOptionsResponse, pause_activity_request, reset_activity_request,
    unpause_activity_request, update_activity_options_request,
};
use perennial_runtime::Sent;

use super::pending;
use crate::call::Call;
use crate::errors::RpcResult;
use crate::validate::{self, invalid};

impl Call<'_> {
    pub(crate) async fn pause_activity(
        &self,
        request: PauseActivityRequest,
    ) -> RpcResult<PauseActivityResponse> {
        use pause_activity_request::Activity;
        let target = self.run_name(&request.namespace, request.execution)?;
        let selection = selected(request.activity.map(|activity| match activity {
            Activity::Id(id) => ActivitySelection::Id(id),
            Activity::Type(kind) => ActivitySelection::Type(kind),
        }))?;
        validate::no_longer_than_an_id(&request.request_id, "RequestId")?;
        // A second request without an id counts as a retry of the first.
        let change =
            ActivityChange::Pause { reason: request.reason, request_id: request.request_id };
        self.change_activities(target, selection, change, request.identity).await?;
        Ok(PauseActivityResponse {})
    }

    pub(crate) async fn unpause_activity(
        &self,
        request: UnpauseActivityRequest,
    ) -> RpcResult<UnpauseActivityResponse> {
        use unpause_activity_request::Activity;
        let target = self.run_name(&request.namespace, request.execution)?;
        let selection = selected(request.activity.map(|activity| match activity {
            Activity::Id(id) => ActivitySelection::Id(id),
            Activity::Type(kind) => ActivitySelection::Type(kind),
            Activity::UnpauseAll(_) => ActivitySelection::All,
        }))?;
        let change = ActivityChange::Unpause {
            reset_attempts: request.reset_attempts,
            reset_heartbeat: request.reset_heartbeat,
            jitter: jitter(request.jitter.as_ref())?,
            jitter_fraction: self.random_fraction(),
        };
        self.change_activities(target, selection, change, request.identity).await?;
        Ok(UnpauseActivityResponse {})
    }

    pub(crate) async fn reset_activity(
        &self,
        request: ResetActivityRequest,
    ) -> RpcResult<ResetActivityResponse> {
        use reset_activity_request::Activity;
        let target = self.run_name(&request.namespace, request.execution)?;
        let selection = selected(request.activity.map(|activity| match activity {
            Activity::Id(id) => ActivitySelection::Id(id),
            Activity::Type(kind) => ActivitySelection::Type(kind),
            Activity::MatchAll(_) => ActivitySelection::All,
        }))?;
        let change = ActivityChange::Reset {
            reset_heartbeat: request.reset_heartbeat,
            keep_paused: request.keep_paused,
            jitter: jitter(request.jitter.as_ref())?,
            jitter_fraction: self.random_fraction(),
            restore_original_options: request.restore_original_options,
        };
        self.change_activities(target, selection, change, request.identity).await?;
        Ok(ResetActivityResponse {})
    }

    pub(crate) async fn update_activity_options(
        &self,
        request: UpdateActivityOptionsRequest,
    ) -> RpcResult<UpdateActivityOptionsResponse> {
        use update_activity_options_request::Activity;
        let target = self.run_name(&request.namespace, request.execution)?;
        let selection = selected(request.activity.map(|activity| match activity {
            Activity::Id(id) => ActivitySelection::Id(id),
            Activity::Type(kind) => ActivitySelection::Type(kind),
            Activity::MatchAll(_) => ActivitySelection::All,
        }))?;
        let options = if request.restore_original {
            if request.update_mask.is_some() {
                return invalid("Both UpdateMask and RestoreOriginal are provided");
            }
            ActivityOptions { restore_original: true, ..ActivityOptions::default() }
        } else {
            let Some(given) = request.activity_options else {
                return invalid("ActivityOptions are not provided");
            };
            let Some(mask) = request.update_mask else {
                return invalid("UpdateMask is not provided");
            };
            // A mask may name a part of a retry policy or a priority. The other parts come from the first selected
            // activity, also for the others.
            let run = self.read(target.clone()).await?;
            let present = first_selected(&run, &selection).map(pending::options);
            masked(&given, &mask.paths, &present.unwrap_or_default())?
        };
        let change = ActivityChange::UpdateOptions(options);
        let sent =
            self.change_activities(target, selection.clone(), change, request.identity).await?;
        let mut activity_options = first_selected(&sent.run, &selection).map(pending::options);
        // Temporal's server returns the queue differently here than in a description.
        if let Some(queue) = activity_options.as_mut().and_then(|it| it.task_queue.as_mut()) {
            queue.kind = TaskQueueKind::Normal.into();
            queue.normal_name.clear();
        }
        Ok(UpdateActivityOptionsResponse { activity_options })
    }

    async fn change_activities(
        &self,
        target: RunName,
        selection: ActivitySelection,
        change: ActivityChange,
        identity: String,
    ) -> RpcResult<Sent> {
        validate::identity(&identity)?;
        let change = ChangeActivities { selection, change, identity };
        let command = Command::ChangeActivities(Box::new(change));
        self.send(target, command).await
    }

    /// A random number in [0, 1), from the random end of a new id.
    fn random_fraction(&self) -> f64 {
        let id = self.runtime().fresh_id();
        let digits = id.len().checked_sub(8).and_then(|start| id.get(start..));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0);
        f64::from(number) / (f64::from(u32::MAX) + 1.0)
    }
}

fn selected(selection: Option<ActivitySelection>) -> RpcResult<ActivitySelection> {
    match selection {
        Some(ActivitySelection::Id(name) | ActivitySelection::Type(name)) if name.is_empty() => {
            invalid("Either Activity.Id or Activity.Type should be set on request.")
        }
        None => invalid("Either Activity.Id or Activity.Type should be set on request."),
        Some(selection) => Ok(selection),
    }
}

fn first_selected<'a>(run: &'a Run, selection: &ActivitySelection) -> Option<&'a PendingActivity> {
    let mut activities = run.activities.values();
    let found = activities.find(|activity| {
        let Some(scheduled) = &activity.scheduled else {
            return false;
        };
        match selection {
            ActivitySelection::Id(id) => scheduled.activity_id == *id,
            ActivitySelection::Type(name) => {
                scheduled.activity_type.as_ref().is_some_and(|kind| kind.name == *name)
            }
            ActivitySelection::All => true,
        }
    });
    found.map(AsRef::as_ref)
}

fn jitter(jitter: Option<&Duration>) -> RpcResult<Span> {
    match checked_duration(jitter) {
        Ok(jitter) => Ok(Span::of(jitter.as_ref())),
        Err(cause) => invalid(format!("invalid jitter: {cause}")),
    }
}

/// The options that a mask names. An option that it names in part gets the other parts from `present`.
fn masked(
    given: &api::ActivityOptions,
    paths: &[String],
    present: &api::ActivityOptions,
) -> RpcResult<ActivityOptions> {
    let mut options = ActivityOptions::default();
    for path in paths {
        let path = snake_case(path);
        let (field, part) = path.split_once('.').unwrap_or((path.as_str(), ""));
        match (field, part) {
            ("task_queue", "" | "name") => {
                options.task_queue = Some(validate::task_queue(given.task_queue.clone())?.name);
            }
            ("schedule_to_close_timeout", "") => {
                options.schedule_to_close = Some(timeout(given.schedule_to_close_timeout)?);
            }
            ("schedule_to_start_timeout", "") => {
                options.schedule_to_start = Some(timeout(given.schedule_to_start_timeout)?);
            }
            ("start_to_close_timeout", "") => {
                options.start_to_close = Some(timeout(given.start_to_close_timeout)?);
            }
            ("heartbeat_timeout", "") => {
                options.heartbeat = Some(timeout(given.heartbeat_timeout)?);
            }
            ("retry_policy", part) => {
                let given = given.retry_policy.clone().unwrap_or_default();
                let policy = options
                    .retry_policy
                    .get_or_insert_with(|| present.retry_policy.clone().unwrap_or_default());
                match part {
                    "" => *policy = given,
                    "initial_interval" => policy.initial_interval = given.initial_interval,
                    "backoff_coefficient" => {
                        policy.backoff_coefficient = given.backoff_coefficient;
                    }
                    "maximum_interval" => policy.maximum_interval = given.maximum_interval,
                    "maximum_attempts" => policy.maximum_attempts = given.maximum_attempts,
                    _ => return unknown_path(&path),
                }
            }
            ("priority", part) => {
                let given = given.priority.clone().unwrap_or_default();
                let priority = options
                    .priority
                    .get_or_insert_with(|| present.priority.clone().unwrap_or_default());
                match part {
                    "" => *priority = given,
                    "priority_key" => priority.priority_key = given.priority_key,
                    "fairness_key" => priority.fairness_key = given.fairness_key,
                    "fairness_weight" => priority.fairness_weight = given.fairness_weight,
                    _ => return unknown_path(&path),
                }
            }
            _ => return unknown_path(&path),
        }
    }
    options.retry_policy = validate::retry_policy(options.retry_policy)?;
    validate::priority(options.priority.as_ref())?;
    Ok(options)
}

fn timeout(duration: Option<Duration>) -> RpcResult<Span> {
    match checked_duration(duration.as_ref()) {
        Ok(duration) => Ok(Span::of(duration.as_ref())),
        Err(cause) => invalid(format!("invalid timeout: {cause}")),
    }
}

fn unknown_path<T>(path: &str) -> RpcResult<T> {
    invalid(format!("UpdateMask names `{path}`, which isn't an option of an activity"))
}

/// A path of a mask in snake case: clients write fields as in the `.proto` file or as in JSON.
pub(super) fn snake_case(path: &str) -> String {
    let mut snake = String::with_capacity(path.len() + 4);
    for letter in path.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::common::v1::RetryPolicy;

    use super::*;

    fn seconds(seconds: i64) -> Option<Duration> {
        Some(Duration { seconds, nanos: 0 })
    }

    fn mask(paths: &[&str]) -> RpcResult<ActivityOptions> {
        let given = api::ActivityOptions {
            heartbeat_timeout: seconds(7),
            start_to_close_timeout: seconds(-1),
            retry_policy: Some(RetryPolicy { maximum_attempts: 9, ..RetryPolicy::default() }),
            ..api::ActivityOptions::default()
        };
        let present = api::ActivityOptions {
            retry_policy: Some(RetryPolicy {
                initial_interval: seconds(3),
                maximum_interval: seconds(30),
                backoff_coefficient: 4.0,
                maximum_attempts: 2,
                ..RetryPolicy::default()
            }),
            ..api::ActivityOptions::default()
        };
        let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        masked(&given, &paths, &present)
    }

    #[test]
    fn only_what_the_mask_names_changes() {
        let options = mask(&["heartbeat_timeout"]).unwrap();
        assert_eq!(options.heartbeat, Some(Span::seconds(7)));
        assert!(options.retry_policy.is_none() && options.start_to_close.is_none());
        assert_eq!(mask(&["heartbeatTimeout"]).unwrap().heartbeat, Some(Span::seconds(7)));
    }

    #[test]
    fn part_of_a_retry_policy_leaves_the_rest_of_it() {
        let policy = mask(&["retryPolicy.maximumAttempts"]).unwrap().retry_policy.unwrap();
        assert_eq!((policy.maximum_attempts, policy.initial_interval), (9, seconds(3)));
    }

    #[test]
    fn bad_options_and_paths_are_refused() {
        let message = |paths: &[&str]| mask(paths).unwrap_err().message().to_owned();
        assert_eq!(message(&["startToCloseTimeout"]), "invalid timeout: negative duration");
        assert_eq!(
            message(&["color"]),
            "UpdateMask names `color`, which isn't an option of an activity"
        );
    }
}
