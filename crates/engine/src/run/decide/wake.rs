//! Handles the deadlines that have passed.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::{RetryState, TimeoutType};
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::failure::v1::{Failure, TimeoutFailureInfo};
use perennial_proto::temporal::history::v1::{
    ActivityTaskTimedOutEventAttributes, TimerFiredEventAttributes,
    WorkflowTaskTimedOutEventAttributes,
};

use super::Decided;
use super::activity_attempt::{Ending, end_attempt, record_started, retry_state};
use super::close::time_out;
use super::fail_workflow_task::try_again;
use crate::run::deadlines::{ActivityDeadline, Deadline};
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::run::{Context, Decision, Reply, Run};

pub(super) fn decide(run: &Run, cx: &Context<'_>) -> Decided {
    let due = run.due(cx.now);
    if due.is_empty() {
        return Ok(Decision { transition: None, reply: Ok(Reply::Done) });
    }
    let mut draft = run.draft(cx);
    for (_, deadline) in due {
        if !draft.run.is_open() {
            break;
        }
        // An earlier deadline of this step may have made this one void.
        if draft.run.due(cx.now).iter().any(|(_, still)| *still == deadline) {
            handle_deadline(&mut draft, deadline);
        }
    }
    Ok(draft.done(Reply::Done))
}

fn handle_deadline(draft: &mut Draft<'_>, deadline: Deadline) {
    match deadline {
        Deadline::Execution | Deadline::Run => time_out(draft),
        Deadline::FirstTask => {
            draft.run.head.first_task_pending = false;
            // The first task is due, even if a speculative task for an update is pending: if that task is dropped with
            // its update, the run would have none.
            draft.make_speculative_task_durable();
            draft.ensure_workflow_task();
        }
        Deadline::Timer(started_event_id) => {
            let Some(timer) = draft.run.timers.get(&started_event_id) else { return };
            let timer_id = timer.timer_id.clone();
            draft.record_or_buffer(Attributes::TimerFiredEventAttributes(
                TimerFiredEventAttributes { timer_id, started_event_id },
            ));
            draft.ensure_workflow_task();
        }
        Deadline::StickyTask => move_to_normal_queue(draft),
        Deadline::WorkflowTask => time_out_task(draft),
        Deadline::ActivityRetry(id) => draft.offer_activity(id),
        Deadline::Activity(id, which) => time_out_activity(draft, id, which),
    }
}

/// Offers the workflow task on the normal queue, because the sticky worker didn't fetch it.
fn move_to_normal_queue(draft: &mut Draft<'_>) {
    let Some(task) = draft.run.head.workflow_task.clone() else { return };
    draft.run.head.sticky = None;
    if task.kind() == stored::WorkflowTaskKind::Normal {
        draft.record(Attributes::WorkflowTaskTimedOutEventAttributes(
            WorkflowTaskTimedOutEventAttributes {
                scheduled_event_id: task.scheduled_event_id,
                started_event_id: 0,
                timeout_type: TimeoutType::ScheduleToStart.into(),
            },
        ));
        draft.ensure_workflow_task();
        return;
    }
    let queue = draft.run.task_queue().to_owned();
    if let Some(task) = &mut draft.run.head.workflow_task {
        task.sticky = false;
        task.sticky_until = 0;
        task.queue = queue;
    }
    draft.offer_workflow_task();
}

fn time_out_task(draft: &mut Draft<'_>) {
    let Some(task) = draft.run.head.workflow_task.clone() else { return };
    if task.kind() == stored::WorkflowTaskKind::Transient {
        draft.run.end_failed_task(true);
        draft.run.head.sticky = None;
    } else {
        draft.record_unwritten_task();
        let (scheduled_event_id, started_event_id) = draft
            .run
            .head
            .workflow_task
            .as_ref()
            .map_or((0, 0), |task| (task.scheduled_event_id, task.started_event_id));
        draft.record(Attributes::WorkflowTaskTimedOutEventAttributes(
            WorkflowTaskTimedOutEventAttributes {
                scheduled_event_id,
                started_event_id,
                timeout_type: TimeoutType::StartToClose.into(),
            },
        ));
    }
    try_again(draft);
}

fn time_out_activity(draft: &mut Draft<'_>, id: i64, which: ActivityDeadline) {
    let Some(activity) = draft.run.activities.get(&id).map(Arc::clone) else { return };
    let failure = activity_timeout(which);
    let is_of_attempt =
        matches!(which, ActivityDeadline::StartToClose | ActivityDeadline::Heartbeat);
    let ending = if is_of_attempt || activity.cancel_requested_event_id != 0 {
        retry_state(&activity, Some(&failure), draft.now())
    } else {
        Ending::Final(RetryState::Timeout)
    };
    match ending {
        Ending::Retry { at, interval } => {
            let identity = activity.identity.clone();
            end_attempt(draft, id, at, interval, failure, &identity);
        }
        Ending::Final(retry_state) => {
            let is_out_of_time =
                retry_state == RetryState::Timeout && which != ActivityDeadline::ScheduleToStart;
            let failure = if is_out_of_time { no_time_to_retry() } else { failure };
            let started_event_id = record_started(draft, &activity);
            draft.record_or_buffer(Attributes::ActivityTaskTimedOutEventAttributes(
                ActivityTaskTimedOutEventAttributes {
                    failure: Some(with_past_of(&activity, failure)),
                    scheduled_event_id: id,
                    started_event_id,
                    retry_state: retry_state.into(),
                },
            ));
            draft.ensure_workflow_task();
        }
    }
}

fn activity_timeout(which: ActivityDeadline) -> Failure {
    let (timeout_type, name) = match which {
        ActivityDeadline::ScheduleToClose => (TimeoutType::ScheduleToClose, "ScheduleToClose"),
        ActivityDeadline::ScheduleToStart => (TimeoutType::ScheduleToStart, "ScheduleToStart"),
        ActivityDeadline::StartToClose => (TimeoutType::StartToClose, "StartToClose"),
        ActivityDeadline::Heartbeat => (TimeoutType::Heartbeat, "Heartbeat"),
    };
    timeout_failure(timeout_type, format!("activity {name} timeout"))
}

/// However the last attempt ended, the workflow learns that all attempts together took too long.
fn no_time_to_retry() -> Failure {
    let message = "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying";
    timeout_failure(TimeoutType::ScheduleToClose, message.to_owned())
}

fn timeout_failure(timeout_type: TimeoutType, message: String) -> Failure {
    Failure {
        message,
        source: "Server".to_owned(),
        failure_info: Some(FailureInfo::TimeoutFailureInfo(TimeoutFailureInfo {
            timeout_type: timeout_type.into(),
            last_heartbeat_details: None,
        })),
        ..Failure::default()
    }
}

/// The failure for the workflow: with the activity's last heartbeat details, and the failure of the attempt before.
fn with_past_of(activity: &stored::PendingActivity, mut failure: Failure) -> Failure {
    if let Some(FailureInfo::TimeoutFailureInfo(info)) = &mut failure.failure_info {
        info.last_heartbeat_details.clone_from(&activity.heartbeat_details);
    }
    failure.cause = activity.last_failure.clone().map(Box::new);
    failure
}
