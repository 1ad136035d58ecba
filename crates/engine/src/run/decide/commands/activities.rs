//! Commands that schedule or cancel activities.

use perennial_proto::temporal::command::v1::{
    RequestCancelActivityTaskCommandAttributes, ScheduleActivityTaskCommandAttributes,
};
use perennial_proto::temporal::common::v1::{Payload, Payloads};
use perennial_proto::temporal::enums::v1::{TaskQueueKind, WorkflowTaskFailedCause};
use perennial_proto::temporal::history::v1::{
    ActivityTaskCancelRequestedEventAttributes, ActivityTaskCanceledEventAttributes,
    ActivityTaskScheduledEventAttributes, HistoryEvent,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use prost::Message;

use super::{CommandFailure, Step};
use crate::Span;
use crate::run::decide::retry::{complete_policy, policy_error};
use crate::run::draft::Draft;
use crate::run::event::{Attributes, event};

const BAD_SCHEDULE: WorkflowTaskFailedCause =
    WorkflowTaskFailedCause::BadScheduleActivityAttributes;

pub(super) fn schedule(
    step: &mut Step<'_, '_>,
    wanted: ScheduleActivityTaskCommandAttributes,
) -> Result<(), CommandFailure> {
    let bad = |message: String| CommandFailure::new(BAD_SCHEDULE, message);
    let input_bytes = wanted.input.as_ref().map_or(0, Message::encoded_len);
    step.check_payloads(BAD_SCHEDULE, input_bytes, "ScheduleActivityTaskCommandAttributes.Input")?;
    let limits = step.draft.cx.limits;
    let activity_type = wanted.activity_type.clone().unwrap_or_default().name;
    if wanted.activity_id.is_empty() {
        return Err(bad("activityId is not set".to_owned()));
    }
    if activity_type.is_empty() {
        return Err(bad("activityType is not set".to_owned()));
    }
    for (text, name) in [(&wanted.activity_id, "activityID"), (&activity_type, "activityType")] {
        if text.len() > limits.id_bytes {
            return Err(bad(format!(
                "{name} exceeds length limit. Length={} Limit={}",
                text.len(),
                limits.id_bytes
            )));
        }
    }
    if let Some(why) = wanted.retry_policy.as_ref().and_then(policy_error) {
        return Err(bad(why));
    }
    if step.draft.run.activity_by_id(&wanted.activity_id).is_some() {
        return Err(CommandFailure::new(
            WorkflowTaskFailedCause::ScheduleActivityDuplicateId,
            format!(
                "invalid history builder state for action: add-activitytask-scheduled-event, ActivityID: {}",
                wanted.activity_id
            ),
        ));
    }
    step.check_pending(
        WorkflowTaskFailedCause::PendingActivitiesLimitExceeded,
        step.draft.run.activities.len(),
        "pending activities",
    )?;
    let timeouts = Timeouts::read(step, &wanted).map_err(bad)?;
    let queue = wanted.task_queue.clone().unwrap_or_default().name;
    let queue = if queue.is_empty() { step.draft.run.task_queue().to_owned() } else { queue };
    let scheduled = ActivityTaskScheduledEventAttributes {
        activity_id: wanted.activity_id,
        activity_type: wanted.activity_type,
        task_queue: Some(TaskQueue {
            name: queue,
            kind: TaskQueueKind::Normal.into(),
            normal_name: String::new(),
        }),
        header: wanted.header,
        input: wanted.input,
        schedule_to_close_timeout: Some(timeouts.schedule_to_close.into()),
        schedule_to_start_timeout: Some(timeouts.schedule_to_start.into()),
        start_to_close_timeout: Some(timeouts.start_to_close.into()),
        heartbeat_timeout: Some(timeouts.heartbeat.into()),
        workflow_task_completed_event_id: step.completed_event_id,
        retry_policy: Some(complete_policy(wanted.retry_policy.unwrap_or_default())),
        priority: wanted.priority,
        ..ActivityTaskScheduledEventAttributes::default()
    };
    let id = step.record(Attributes::ActivityTaskScheduledEventAttributes(scheduled));
    if wanted.request_eager_execution {
        step.progress.eager_activities.push(id);
    } else {
        step.draft.offer_activity(id);
    }
    Ok(())
}

/// Starts activities at once on the worker that completed the workflow task, without queue and poll. Activities that a
/// later command of the same completion has ended aren't started.
pub(in crate::run::decide) fn start_eager(
    draft: &mut Draft<'_>,
    scheduled_event_ids: &mut Vec<i64>,
    identity: &str,
) {
    let now = draft.now();
    scheduled_event_ids.retain(|id| draft.run.activities.contains_key(id));
    for id in scheduled_event_ids {
        let request_id = draft.cx.ids.next(now);
        draft.run.change_activity(*id, &mut draft.touched, |activity| {
            activity.stamp = 1;
            activity.started_at = now.0;
            activity.identity = identity.to_owned();
            activity.request_id = request_id;
        });
    }
}

pub(super) fn request_cancel(
    step: &mut Step<'_, '_>,
    wanted: RequestCancelActivityTaskCommandAttributes,
) -> Result<(), CommandFailure> {
    let cause = WorkflowTaskFailedCause::BadRequestCancelActivityAttributes;
    let id = wanted.scheduled_event_id;
    if id <= 0 {
        return Err(CommandFailure::new(
            cause,
            "ScheduledEventId is not set on RequestCancelActivityTaskCommand.",
        ));
    }
    let activity = step.draft.run.activities.get(&id).cloned();
    let ended_in_buffer =
        step.draft.run.buffered.values().any(|event| ended_activity(event) == Some(id));
    // An activity that ended during this workflow task may still be canceled: the workflow hasn't seen its outcome.
    let may_be_asked = match &activity {
        Some(activity) => activity.cancel_requested_event_id == 0,
        None => ended_in_buffer,
    };
    if !may_be_asked {
        return Err(CommandFailure::new(
            cause,
            format!(
                "invalid history builder state for action: add-activitytask-cancel-requested-event, ScheduledEventID: {id}"
            ),
        ));
    }
    let requested_event_id = step.record(Attributes::ActivityTaskCancelRequestedEventAttributes(
        ActivityTaskCancelRequestedEventAttributes {
            scheduled_event_id: id,
            workflow_task_completed_event_id: step.completed_event_id,
        },
    ));
    if activity.is_some_and(|activity| activity.started_at == 0) {
        // After the events of all commands: SDKs predict the ids of those.
        step.draft.buffer(event(Attributes::ActivityTaskCanceledEventAttributes(
            ActivityTaskCanceledEventAttributes {
                details: Some(json_text("ACTIVITY_ID_NOT_STARTED")),
                latest_cancel_requested_event_id: requested_event_id,
                scheduled_event_id: id,
                identity: step.complete.identity.clone(),
                ..ActivityTaskCanceledEventAttributes::default()
            },
        )));
    }
    Ok(())
}

/// The activity whose outcome an event reports.
fn ended_activity(event: &HistoryEvent) -> Option<i64> {
    match event.attributes.as_ref()? {
        Attributes::ActivityTaskCompletedEventAttributes(it) => Some(it.scheduled_event_id),
        Attributes::ActivityTaskFailedEventAttributes(it) => Some(it.scheduled_event_id),
        Attributes::ActivityTaskCanceledEventAttributes(it) => Some(it.scheduled_event_id),
        Attributes::ActivityTaskTimedOutEventAttributes(it) => Some(it.scheduled_event_id),
        _ => None,
    }
}

/// A text as SDKs encode it.
fn json_text(text: &str) -> Payloads {
    let payload = Payload {
        metadata: [("encoding".to_owned(), b"json/plain".to_vec())].into(),
        data: format!("\"{text}\"").into_bytes(),
        ..Payload::default()
    };
    Payloads { payloads: vec![payload] }
}

struct Timeouts {
    schedule_to_close: Span,
    schedule_to_start: Span,
    start_to_close: Span,
    heartbeat: Span,
}

impl Timeouts {
    /// Reads the timeouts. Missing ones are derived from the others, and none is longer than the run timeout.
    fn read(
        step: &Step<'_, '_>,
        wanted: &ScheduleActivityTaskCommandAttributes,
    ) -> Result<Self, String> {
        let run_timeout = Span::of(step.draft.run.started.workflow_run_timeout.as_ref());
        let of = |duration: &Option<perennial_proto::Duration>| Span::of(duration.as_ref());
        let given = [
            (&wanted.schedule_to_close_timeout, "ScheduleToCloseTimeout"),
            (&wanted.schedule_to_start_timeout, "ScheduleToStartTimeout"),
            (&wanted.start_to_close_timeout, "StartToCloseTimeout"),
            (&wanted.heartbeat_timeout, "HeartbeatTimeout"),
        ];
        for (timeout, name) in given {
            if of(timeout) < Span::ZERO {
                return Err(format!("invalid {name}: negative duration"));
            }
        }
        let shorter =
            |span: Span, limit: Span| if limit > Span::ZERO { span.min(limit) } else { span };
        let or = |span: Span, other: Span| span.get().unwrap_or(other);
        let (close, to_start, start) = (
            of(&wanted.schedule_to_close_timeout),
            of(&wanted.schedule_to_start_timeout),
            of(&wanted.start_to_close_timeout),
        );
        let (schedule_to_close, schedule_to_start, start_to_close) = if close > Span::ZERO {
            (close, shorter(or(to_start, close), close), shorter(or(start, close), close))
        } else if start > Span::ZERO {
            (run_timeout, or(to_start, run_timeout), start)
        } else {
            return Err(format!(
                "a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the activity. ActivityId={} ActivityType={}",
                wanted.activity_id,
                wanted.activity_type.as_ref().map_or("", |it| it.name.as_str()),
            ));
        };
        let start_to_close = shorter(start_to_close, run_timeout);
        Ok(Self {
            schedule_to_close: shorter(schedule_to_close, run_timeout),
            schedule_to_start: shorter(schedule_to_start, run_timeout),
            start_to_close,
            heartbeat: shorter(of(&wanted.heartbeat_timeout), start_to_close),
        })
    }
}
