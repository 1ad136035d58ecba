//! Commands that start or cancel timers.

use perennial_proto::temporal::command::v1::{
    CancelTimerCommandAttributes, StartTimerCommandAttributes,
};
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::history::v1::{
    TimerCanceledEventAttributes, TimerStartedEventAttributes,
};

use super::{CommandFailure, Step};
use crate::run::event::Attributes;
use crate::{RunPart, Span};

pub(super) fn start(
    step: &mut Step<'_, '_>,
    wanted: StartTimerCommandAttributes,
) -> Result<(), CommandFailure> {
    let id = &wanted.timer_id;
    let bad = |message: String| {
        Err(CommandFailure::new(WorkflowTaskFailedCause::BadStartTimerAttributes, message))
    };
    if id.is_empty() {
        return bad("TimerId is not set on StartTimerCommand.".to_owned());
    }
    let limit = step.draft.cx.limits.id_bytes;
    if id.len() > limit {
        return bad(format!(
            "TimerId on StartTimerCommand exceeds length limit. TimerId={id} Length={} Limit={limit}",
            id.len()
        ));
    }
    if Span::of(wanted.start_to_fire_timeout.as_ref()) < Span::ZERO {
        return bad(format!(
            "An invalid StartToFireTimeout is set on StartTimerCommand: negative duration. TimerId={id}"
        ));
    }
    if step.draft.run.timers.values().any(|timer| timer.timer_id == wanted.timer_id) {
        return Err(CommandFailure::new(
            WorkflowTaskFailedCause::StartTimerDuplicateId,
            format!(
                "invalid history builder state for action: add-timer-started-event, TimerID: {id}"
            ),
        ));
    }
    step.record(Attributes::TimerStartedEventAttributes(TimerStartedEventAttributes {
        timer_id: wanted.timer_id,
        start_to_fire_timeout: wanted.start_to_fire_timeout,
        workflow_task_completed_event_id: step.completed_event_id,
    }));
    Ok(())
}

pub(super) fn cancel(
    step: &mut Step<'_, '_>,
    wanted: CancelTimerCommandAttributes,
) -> Result<(), CommandFailure> {
    let cause = WorkflowTaskFailedCause::BadCancelTimerAttributes;
    if wanted.timer_id.is_empty() {
        return Err(CommandFailure::new(cause, "TimerId is not set on CancelTimerCommand."));
    }
    let pending = step.draft.run.timers.values().find(|timer| timer.timer_id == wanted.timer_id);
    let started_event_id = match pending {
        Some(timer) => timer.started_event_id,
        // The timer has fired, but the workflow hasn't seen that: the cancellation wins.
        None => take_fired(step, &wanted.timer_id).ok_or_else(|| {
            CommandFailure::new(
                cause,
                format!(
                    "invalid history builder state for action: add-timer-canceled-event, TimerID: {}",
                    wanted.timer_id
                ),
            )
        })?,
    };
    step.record(Attributes::TimerCanceledEventAttributes(TimerCanceledEventAttributes {
        timer_id: wanted.timer_id,
        started_event_id,
        workflow_task_completed_event_id: step.completed_event_id,
        identity: step.complete.identity.clone(),
    }));
    Ok(())
}

/// Removes the timer's fired event from the buffer, if it is there. Returns the id of the event that started the
/// timer.
fn take_fired(step: &mut Step<'_, '_>, timer_id: &str) -> Option<i64> {
    let (sequence, started_event_id) =
        step.draft.run.buffered.iter().find_map(|(sequence, event)| match &event.attributes {
            Some(Attributes::TimerFiredEventAttributes(fired)) if fired.timer_id == timer_id => {
                Some((*sequence, fired.started_event_id))
            }
            _ => None,
        })?;
    step.draft.run.buffered.remove(&sequence);
    step.draft.touched.insert(RunPart::Buffered(sequence));
    step.progress.has_unseen &= !step.draft.run.buffered.is_empty();
    Some(started_event_id)
}
