//! A worker reports how an attempt of an activity ended.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::RetryState;
use perennial_proto::temporal::history::v1::{
    ActivityTaskCanceledEventAttributes, ActivityTaskCompletedEventAttributes,
    ActivityTaskFailedEventAttributes,
};

use super::Decided;
use super::activity_attempt::{Ending, end_attempt, record_started_by, retry_state};
use crate::run::event::Attributes;
use crate::run::{
    ActivityOutcome, ActivityTarget, Context, Rejection, Reply, ReportActivity, Run, TaskStamp,
};

pub(super) fn decide(run: &Run, report: ReportActivity, cx: &Context<'_>) -> Decided {
    let activity = Arc::clone(running_activity(run, &report.target)?);
    let id = activity.scheduled_event_id;
    let mut draft = run.draft(cx);
    match report.outcome {
        ActivityOutcome::Completed(result) => {
            let started_event_id = record_started_by(&mut draft, &activity, report.worker_version);
            draft.record_or_buffer(Attributes::ActivityTaskCompletedEventAttributes(
                ActivityTaskCompletedEventAttributes {
                    result,
                    scheduled_event_id: id,
                    started_event_id,
                    identity: report.identity,
                    ..ActivityTaskCompletedEventAttributes::default()
                },
            ));
            draft.ensure_workflow_task();
        }
        ActivityOutcome::Failed(failure, heartbeat) => {
            if heartbeat.is_some() {
                let now = draft.now();
                draft.run.change_activity(id, &mut draft.touched, |activity| {
                    activity.heartbeat_details = heartbeat;
                    activity.heartbeat_at = now.0;
                });
            }
            let failure = failure.unwrap_or_default();
            match retry_state(&activity, Some(&failure), draft.now()) {
                Ending::Retry { at, interval } => {
                    end_attempt(&mut draft, id, at, interval, failure, &report.identity);
                }
                Ending::Final(state) => {
                    let started_event_id =
                        record_started_by(&mut draft, &activity, report.worker_version);
                    draft.record_or_buffer(Attributes::ActivityTaskFailedEventAttributes(
                        ActivityTaskFailedEventAttributes {
                            failure: Some(failure),
                            scheduled_event_id: id,
                            started_event_id,
                            identity: report.identity,
                            retry_state: RetryState::into(state),
                            ..ActivityTaskFailedEventAttributes::default()
                        },
                    ));
                    draft.ensure_workflow_task();
                }
            }
        }
        ActivityOutcome::Canceled(details) => {
            if activity.cancel_requested_event_id == 0 {
                let why = "unable to mark activity as canceled without activity being request canceled first";
                return Err(Rejection::InvalidArgument(why.to_owned()));
            }
            let started_event_id = record_started_by(&mut draft, &activity, report.worker_version);
            draft.record_or_buffer(Attributes::ActivityTaskCanceledEventAttributes(
                ActivityTaskCanceledEventAttributes {
                    details,
                    latest_cancel_requested_event_id: activity.cancel_requested_event_id,
                    scheduled_event_id: id,
                    started_event_id,
                    identity: report.identity,
                    ..ActivityTaskCanceledEventAttributes::default()
                },
            ));
            draft.ensure_workflow_task();
        }
    }
    Ok(draft.done(Reply::Done))
}

/// The activity that a worker refers to, if the worker still has it.
pub(super) fn running_activity<'a>(
    run: &'a Run,
    target: &ActivityTarget,
) -> Result<&'a Arc<stored::PendingActivity>, Rejection> {
    let not_found = || {
        Rejection::TaskNotFound(
            "invalid activityID or activity already timed out or invoking workflow is completed"
                .to_owned(),
        )
    };
    if !run.is_open() {
        return Err(Rejection::AlreadyClosed);
    }
    match target {
        ActivityTarget::Token(stamp) => run
            .activities
            .get(&stamp.scheduled_event_id)
            .filter(|activity| activity.started_at != 0 && TaskStamp::from(&***activity) == *stamp)
            .ok_or_else(not_found),
        ActivityTarget::Id(id) => {
            let Some(activity) = run.activity_by_id(id) else {
                return Err(Rejection::TaskNotFound(format!(
                    "cannot find pending activity with ActivityID {id}, check workflow execution history for more details"
                )));
            };
            Some(activity).filter(|activity| activity.started_at != 0).ok_or_else(not_found)
        }
    }
}
