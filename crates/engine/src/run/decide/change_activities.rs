//! An operator pauses, unpauses, resets or changes activities.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::history::v1::ActivityTaskScheduledEventAttributes;

use super::Decided;
use super::retry::{complete_policy, policy_error};
use crate::run::draft::Draft;
use crate::run::{
    ActivityChange, ActivityOptions, ActivitySelection, ChangeActivities, Context, Rejection,
    Reply, Run,
};
use crate::{Span, Time};

pub(super) fn decide(run: &Run, request: ChangeActivities, cx: &Context<'_>) -> Decided {
    run.open()?;
    let selected = selected(run, &request.selection)?;
    let mut draft = run.draft(cx);
    for activity in selected {
        change(&mut draft, &activity, &request)?;
    }
    Ok(draft.done(Reply::Done))
}

fn selected(
    run: &Run,
    selection: &ActivitySelection,
) -> Result<Vec<Arc<stored::PendingActivity>>, Rejection> {
    let is_selected = |activity: &&Arc<stored::PendingActivity>| {
        let scheduled = activity.scheduled.as_ref();
        match selection {
            ActivitySelection::Id(id) => scheduled.is_some_and(|it| it.activity_id == *id),
            ActivitySelection::Type(name) => scheduled
                .and_then(|it| it.activity_type.as_ref())
                .is_some_and(|kind| kind.name == *name),
            ActivitySelection::All => true,
        }
    };
    let selected: Vec<_> = run.activities.values().filter(is_selected).cloned().collect();
    if selected.is_empty() && *selection != ActivitySelection::All {
        return Err(Rejection::NotFound(
            "Can't find pending activity with such ID. Invalid activityID or activity already completed"
                .to_owned(),
        ));
    }
    Ok(selected)
}

fn change(
    draft: &mut Draft<'_>,
    activity: &stored::PendingActivity,
    request: &ChangeActivities,
) -> Result<(), Rejection> {
    let id = activity.scheduled_event_id;
    match &request.change {
        ActivityChange::Pause { reason, request_id } => {
            return pause(draft, activity, reason, request_id, &request.identity);
        }
        ActivityChange::Unpause { reset_attempts, reset_heartbeat, jitter, jitter_fraction } => {
            if activity.paused.is_none() {
                return Ok(());
            }
            draft.run.change_activity(id, &mut draft.touched, |activity| {
                activity.paused = None;
                if *reset_attempts {
                    activity.attempt = 1;
                }
                if *reset_heartbeat {
                    forget_progress(activity);
                }
            });
            offer_with_jitter(draft, id, *jitter, *jitter_fraction);
        }
        ActivityChange::Reset {
            reset_heartbeat,
            keep_paused,
            jitter,
            jitter_fraction,
            restore_original_options,
        } => {
            draft.run.change_activity(id, &mut draft.touched, |activity| {
                if *restore_original_options {
                    restore(activity);
                }
                if !keep_paused {
                    activity.paused = None;
                }
                if activity.started_at == 0 {
                    activity.attempt = 1;
                    if activity.paused.is_none() {
                        // Nothing has failed before the first attempt.
                        activity.last_failure = None;
                    }
                    if *reset_heartbeat {
                        forget_progress(activity);
                    }
                } else {
                    // The running attempt learns of the reset by its next heartbeat, and counts as the first.
                    activity.reset_requested = true;
                    activity.reset_heartbeats = *reset_heartbeat;
                }
            });
            offer_with_jitter(draft, id, *jitter, *jitter_fraction);
        }
        ActivityChange::UpdateOptions(options) => update_options(draft, activity, options)?,
    }
    Ok(())
}

fn pause(
    draft: &mut Draft<'_>,
    activity: &stored::PendingActivity,
    reason: &str,
    request_id: &str,
    identity: &str,
) -> Result<(), Rejection> {
    if let Some(paused) = &activity.paused {
        if paused.request_id == request_id {
            return Ok(());
        }
        return Err(Rejection::FailedPrecondition("activity is already paused".to_owned()));
    }
    let now = draft.now();
    draft.run.change_activity(activity.scheduled_event_id, &mut draft.touched, |activity| {
        // A running attempt may finish; a task that was only offered is withdrawn.
        if activity.started_at == 0 {
            activity.stamp += 1;
        }
        activity.paused = Some(stored::Paused {
            identity: identity.to_owned(),
            reason: reason.to_owned(),
            request_id: request_id.to_owned(),
            paused_at: now.0,
        });
    });
    Ok(())
}

/// Offers an activity that neither runs nor is paused, after a part of `jitter`.
fn offer_with_jitter(draft: &mut Draft<'_>, id: i64, jitter: Span, fraction: f64) {
    let Some(activity) = draft.run.activities.get(&id) else { return };
    if activity.started_at != 0 || activity.paused.is_some() {
        return;
    }
    let wait = Span((jitter.0.max(0) as f64 * fraction.clamp(0.0, 1.0)) as i64);
    if wait == Span::ZERO && draft.run.head.paused.is_none() {
        draft.offer_activity(id);
        return;
    }
    let at = draft.now().after(wait);
    wait_until(draft, id, at);
}

/// Withdraws the present offer; the next one is due at `at`.
fn wait_until(draft: &mut Draft<'_>, id: i64, at: Time) {
    draft.run.change_activity(id, &mut draft.touched, |activity| {
        activity.stamp += 1;
        activity.retry_at = at.0.max(1);
    });
}

fn update_options(
    draft: &mut Draft<'_>,
    activity: &stored::PendingActivity,
    options: &ActivityOptions,
) -> Result<(), Rejection> {
    let id = activity.scheduled_event_id;
    if let Some(why) = options.retry_policy.as_ref().and_then(policy_error) {
        return Err(Rejection::InvalidArgument(why));
    }
    let timeouts = [
        options.schedule_to_close,
        options.schedule_to_start,
        options.start_to_close,
        options.heartbeat,
    ];
    if timeouts.into_iter().flatten().any(|timeout| timeout < Span::ZERO) {
        return Err(Rejection::InvalidArgument("a timeout can't be negative".to_owned()));
    }
    let mut scheduled = match (&activity.original, options.restore_original) {
        (Some(original), true) => original.clone(),
        _ => activity.scheduled.clone().unwrap_or_default(),
    };
    apply_options(&mut scheduled, options);
    let has_end = [&scheduled.schedule_to_close_timeout, &scheduled.start_to_close_timeout]
        .into_iter()
        .any(|timeout| Span::of(timeout.as_ref()).get().is_some());
    if !has_end {
        return Err(Rejection::InvalidArgument(format!(
            "a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the activity. ActivityId={} ActivityType={}",
            scheduled.activity_id,
            scheduled.activity_type.as_ref().map_or("", |kind| kind.name.as_str())
        )));
    }
    draft.run.change_activity(id, &mut draft.touched, |activity| {
        let before = activity.scheduled.replace(scheduled);
        if activity.original.is_none() {
            activity.original = before;
        }
    });
    let was_offered = activity.started_at == 0 && activity.retry_at == 0;
    if was_offered && activity.paused.is_none() && draft.run.head.paused.is_none() {
        // The task queue may have changed; the time that the activity has waited still counts.
        draft.offer_activity(id);
        draft.run.change_activity(id, &mut draft.touched, |offered| {
            offered.attempt_scheduled_at = activity.attempt_scheduled_at;
        });
    }
    Ok(())
}

fn apply_options(scheduled: &mut ActivityTaskScheduledEventAttributes, options: &ActivityOptions) {
    if let Some(queue) = &options.task_queue {
        scheduled.task_queue.get_or_insert_default().name.clone_from(queue);
    }
    let timeouts = [
        (options.schedule_to_close, &mut scheduled.schedule_to_close_timeout),
        (options.schedule_to_start, &mut scheduled.schedule_to_start_timeout),
        (options.start_to_close, &mut scheduled.start_to_close_timeout),
        (options.heartbeat, &mut scheduled.heartbeat_timeout),
    ];
    for (given, timeout) in timeouts {
        if let Some(given) = given {
            *timeout = Some(given.into());
        }
    }
    if let Some(policy) = &options.retry_policy {
        scheduled.retry_policy = Some(complete_policy(policy.clone()));
    }
    if options.priority.is_some() {
        scheduled.priority.clone_from(&options.priority);
    }
}

fn restore(activity: &mut stored::PendingActivity) {
    if let Some(original) = activity.original.take() {
        activity.scheduled = Some(original);
    }
}

fn forget_progress(activity: &mut stored::PendingActivity) {
    activity.heartbeat_details = None;
    activity.heartbeat_at = 0;
}
