//! Pending activities, children and tasks of a run, as describe shows them.

use perennial_engine::{Span, Time};
use perennial_proto::store::{PendingActivity, PendingChild, WorkflowTask};
use perennial_proto::temporal::activity::v1::ActivityOptions;
use perennial_proto::temporal::common::v1::RetryPolicy;
use perennial_proto::temporal::enums::v1::{PendingActivityState, PendingWorkflowTaskState};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::pending_activity_info::PauseInfo;
use perennial_proto::temporal::workflow::v1::pending_activity_info::pause_info::{
    Manual, PausedBy,
};
use perennial_proto::temporal::workflow::v1::{
    PendingActivityInfo, PendingChildExecutionInfo, PendingWorkflowTaskInfo,
};

/// Describes a pending activity.
pub(super) fn activity(activity: &PendingActivity, now: Time) -> PendingActivityInfo {
    let scheduled = activity.scheduled.clone().unwrap_or_default();
    let retry_at = Time(activity.retry_at).get();
    let retry_at = retry_at.filter(|at| *at > now && activity.paused.is_none());
    let completed_at = Time(activity.last_attempt_completed_at).get();
    let expires_at = Span::of(scheduled.schedule_to_close_timeout.as_ref())
        .get()
        .map(|timeout| Time(activity.first_scheduled_at).after(timeout));
    let has_heartbeat = activity.heartbeat_at != 0;
    let identity = if activity.identity.is_empty() {
        activity.last_worker_identity.clone()
    } else {
        activity.identity.clone()
    };
    PendingActivityInfo {
        activity_id: scheduled.activity_id.clone(),
        activity_type: scheduled.activity_type.clone(),
        state: state(activity).into(),
        heartbeat_details: has_heartbeat.then(|| activity.heartbeat_details.clone()).flatten(),
        last_heartbeat_time: Time(activity.heartbeat_at).get().map(Into::into),
        last_started_time: Time(activity.started_at).get().map(Into::into),
        // After a reset, the running attempt counts as the first.
        attempt: if activity.reset_requested { 1 } else { activity.attempt.max(1) },
        maximum_attempts: scheduled
            .retry_policy
            .as_ref()
            .map_or(0, |policy| policy.maximum_attempts),
        scheduled_time: Some(scheduled_time(activity).into()),
        expiration_time: expires_at.map(Into::into),
        last_failure: activity.last_failure.clone(),
        last_worker_identity: identity,
        current_retry_interval: retry_at
            .and(completed_at)
            .zip(retry_at)
            .map(|(completed_at, retry_at)| retry_at.since(completed_at).into()),
        last_attempt_complete_time: completed_at.map(Into::into),
        next_attempt_schedule_time: retry_at.map(Into::into),
        paused: activity.paused.is_some(),
        priority: scheduled.priority.clone(),
        pause_info: activity.paused.as_ref().map(|paused| PauseInfo {
            pause_time: Some(Time(paused.paused_at).into()),
            paused_by: Some(PausedBy::Manual(Manual {
                identity: paused.identity.clone(),
                reason: paused.reason.clone(),
            })),
        }),
        activity_options: Some(options(activity)),
        ..PendingActivityInfo::default()
    }
}

/// The current options of an activity.
pub(super) fn options(activity: &PendingActivity) -> ActivityOptions {
    let scheduled = activity.scheduled.clone().unwrap_or_default();
    let queue = scheduled.task_queue.unwrap_or_default().name;
    let retry_policy = scheduled.retry_policy.unwrap_or_default();
    ActivityOptions {
        task_queue: Some(TaskQueue { name: queue.clone(), normal_name: queue, kind: 0 }),
        schedule_to_close_timeout: scheduled.schedule_to_close_timeout,
        schedule_to_start_timeout: scheduled.schedule_to_start_timeout,
        start_to_close_timeout: scheduled.start_to_close_timeout,
        heartbeat_timeout: scheduled.heartbeat_timeout,
        retry_policy: Some(RetryPolicy { non_retryable_error_types: Vec::new(), ..retry_policy }),
        priority: scheduled.priority,
        ..ActivityOptions::default()
    }
}

/// Describes an open child.
pub(super) fn child(child: &PendingChild) -> PendingChildExecutionInfo {
    let initiated = child.initiated.clone().unwrap_or_default();
    let is_started = child.started_event_id != 0;
    PendingChildExecutionInfo {
        workflow_id: if is_started { initiated.workflow_id } else { String::new() },
        run_id: if is_started { child.run_id.clone() } else { String::new() },
        workflow_type_name: initiated.workflow_type.unwrap_or_default().name,
        initiated_id: child.initiated_event_id,
        parent_close_policy: initiated.parent_close_policy,
    }
}

/// Describes a scheduled or started workflow task.
pub(super) fn workflow_task(task: &WorkflowTask) -> PendingWorkflowTaskInfo {
    let started_at = Time(task.started_at).get();
    let state = match started_at {
        Some(_) => PendingWorkflowTaskState::Started,
        None => PendingWorkflowTaskState::Scheduled,
    };
    let original = if task.original_scheduled_at == 0 {
        task.scheduled_at
    } else {
        task.original_scheduled_at
    };
    PendingWorkflowTaskInfo {
        state: state.into(),
        scheduled_time: Time(task.scheduled_at).get().map(Into::into),
        original_scheduled_time: Time(original).get().map(Into::into),
        started_time: started_at.map(Into::into),
        attempt: task.attempt,
    }
}

fn state(activity: &PendingActivity) -> PendingActivityState {
    let is_started = activity.started_at != 0 && activity.retry_at == 0;
    match (activity.cancel_requested_event_id != 0, is_started, activity.paused.is_some()) {
        (true, ..) => PendingActivityState::CancelRequested,
        (false, true, true) => PendingActivityState::PauseRequested,
        (false, true, false) => PendingActivityState::Started,
        (false, false, true) => PendingActivityState::Paused,
        (false, false, false) => PendingActivityState::Scheduled,
    }
}

/// The scheduled time of the current or next attempt.
fn scheduled_time(activity: &PendingActivity) -> Time {
    [activity.retry_at, activity.attempt_scheduled_at, activity.first_scheduled_at]
        .into_iter()
        .find_map(|at| Time(at).get())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use perennial_proto::store::Paused;

    use super::*;

    fn pending(started_at: i64, canceled: bool, paused: bool) -> PendingActivityState {
        state(&PendingActivity {
            started_at,
            cancel_requested_event_id: i64::from(canceled),
            paused: paused.then(Paused::default),
            ..PendingActivity::default()
        })
    }

    #[test]
    fn state_of_an_activity_depends_on_its_attempt() {
        assert_eq!(pending(0, false, false), PendingActivityState::Scheduled);
        assert_eq!(pending(5, false, false), PendingActivityState::Started);
        assert_eq!(pending(0, false, true), PendingActivityState::Paused);
        assert_eq!(pending(5, false, true), PendingActivityState::PauseRequested);
        assert_eq!(pending(5, true, true), PendingActivityState::CancelRequested);
    }

    #[test]
    fn next_attempt_shows_only_while_it_is_ahead() {
        let waiting = PendingActivity {
            attempt: 2,
            retry_at: 3_000_000_000,
            last_attempt_completed_at: 1_000_000_000,
            ..PendingActivity::default()
        };
        let before = activity(&waiting, Time(2_000_000_000));
        assert_eq!(before.next_attempt_schedule_time.unwrap().seconds, 3);
        assert_eq!(before.current_retry_interval.unwrap().seconds, 2);
        let after = activity(&waiting, Time(4_000_000_000));
        assert_eq!(after.next_attempt_schedule_time, None);
        assert_eq!(after.current_retry_interval, None);
    }
}
