//! The end of one attempt of an activity: a retry, or an outcome.

use perennial_proto::store as stored;
use perennial_proto::temporal::common::v1::WorkerVersionStamp;
use perennial_proto::temporal::enums::v1::RetryState;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::ActivityTaskStartedEventAttributes;

use super::retry;
pub(super) use super::retry::Ending;
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::{Span, Time};

/// What follows after `failure`: a retry, or the final outcome.
pub(super) fn retry_state(
    activity: &stored::PendingActivity,
    failure: Option<&Failure>,
    now: Time,
) -> Ending {
    if activity.cancel_requested_event_id != 0 {
        return Ending::Final(RetryState::CancelRequested);
    }
    let scheduled = activity.scheduled.clone().unwrap_or_default();
    let expires_at = Span::of(scheduled.schedule_to_close_timeout.as_ref())
        .get()
        .map(|timeout| Time(activity.first_scheduled_at).after(timeout));
    let attempt = counted_attempt(activity);
    let ending = retry::ending(scheduled.retry_policy.as_ref(), attempt, failure, now, expires_at);
    match ending {
        // An operator who paused the activity wants to look at it before it fails for good: it stays pending, and an
        // unpause retries it.
        Ending::Final(RetryState::MaximumAttemptsReached | RetryState::Timeout)
            if activity.paused.is_some() =>
        {
            Ending::Retry { at: now, interval: Span::ZERO }
        }
        ending => ending,
    }
}

/// The attempt number. After an operator's reset, the running attempt counts as the first; its token keeps the old
/// number, so that the worker can still send heartbeats and its result.
fn counted_attempt(activity: &stored::PendingActivity) -> i32 {
    if activity.reset_requested { 1 } else { activity.attempt.max(1) }
}

/// Records the activity's start. Attempts leave no event, so the start is recorded only when the last attempt has
/// ended. Returns the event's id, or 0 if the event is buffered.
pub(super) fn record_started(draft: &mut Draft<'_>, activity: &stored::PendingActivity) -> i64 {
    record_started_by(draft, activity, None)
}

/// As [`record_started`], when the worker itself reports the end of the attempt and its build.
pub(super) fn record_started_by(
    draft: &mut Draft<'_>,
    activity: &stored::PendingActivity,
    worker_version: Option<WorkerVersionStamp>,
) -> i64 {
    if activity.started_at == 0 {
        return 0;
    }
    let mut started = crate::run::event::event(Attributes::ActivityTaskStartedEventAttributes(
        ActivityTaskStartedEventAttributes {
            scheduled_event_id: activity.scheduled_event_id,
            identity: activity.identity.clone(),
            request_id: activity.request_id.clone(),
            attempt: counted_attempt(activity),
            last_failure: activity.last_failure.clone(),
            worker_version,
            ..ActivityTaskStartedEventAttributes::default()
        },
    ));
    if draft.has_started_task() {
        draft.record_or_buffer_event(started);
        return 0;
    }
    started.event_time = Some(Time(activity.started_at).into());
    draft.record_event(started)
}

/// Ends the attempt; the next one is due at `at`.
pub(super) fn end_attempt(
    draft: &mut Draft<'_>,
    scheduled_event_id: i64,
    at: Time,
    interval: Span,
    failure: Failure,
    identity: &str,
) {
    let now = draft.now();
    draft.run.change_activity(scheduled_event_id, &mut draft.touched, |activity| {
        activity.attempt = counted_attempt(activity) + 1;
        if activity.reset_heartbeats {
            activity.heartbeat_details = None;
            activity.heartbeat_at = 0;
        }
        activity.reset_requested = false;
        activity.reset_heartbeats = false;
        activity.started_at = 0;
        activity.request_id.clear();
        activity.identity.clear();
        activity.last_failure = Some(failure);
        activity.last_worker_identity = identity.to_owned();
        activity.last_attempt_completed_at = now.0;
        activity.retry_at = at.0.max(1);
        activity.retry_interval_nanos = interval.0;
        activity.stamp += 1;
    });
    if at <= now {
        let activity = draft.run.activities.get(&scheduled_event_id);
        let is_paused = activity.is_some_and(|activity| activity.paused.is_some());
        if !is_paused && draft.run.head.paused.is_none() {
            draft.offer_activity(scheduled_event_id);
        }
    }
}
