//! A run has ended, with all its retries and continuations.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus as Status;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use super::pause::pause_now;
use super::start_answered::heard;
use crate::SchedulePart;
use crate::run::timeout_failure;
use crate::schedule::draft::Draft;

pub(super) fn take(draft: &mut Draft<'_>, closed: &stored::ScheduledRunClosed) {
    let name = closed.run.clone().unwrap_or_default();
    // What was due before the end saw the run going on.
    super::settle::settle(draft);
    let running = &draft.schedule.running;
    let Some(run) = running.get(&name.first_run_id).cloned() else { return };
    // It may end before the schedule hears that it began.
    heard(draft, &run);
    draft.remove_running(&run.run_id);
    let end = End::of(closed.close_event.as_ref());
    let status = end.status();
    let recent = draft.schedule.head.recent_actions.iter_mut();
    for action in recent.filter(|action| action.run_id == run.run_id) {
        action.status = status.into();
    }
    if draft.schedule.head.deleted_at != 0 {
        return;
    }
    let notes = end.pause_notes(&run.workflow_id);
    remember(draft, end);
    if let Some(notes) = notes
        && draft.schedule.config.pause_on_failure
        && !draft.schedule.head.paused
    {
        pause_now(draft, notes, None);
    }
}

/// How a run ended, as far as a schedule cares.
enum End {
    Completed(Option<perennial_proto::temporal::common::v1::Payloads>),
    Failed(Failure),
    TimedOut(Failure),
    Other(Status),
}

impl End {
    fn of(event: Option<&HistoryEvent>) -> Self {
        match event.and_then(|event| event.attributes.as_ref()) {
            Some(Attributes::WorkflowExecutionCompletedEventAttributes(end)) => {
                Self::Completed(end.result.clone())
            }
            Some(Attributes::WorkflowExecutionFailedEventAttributes(end)) => {
                Self::Failed(end.failure.clone().unwrap_or_default())
            }
            Some(Attributes::WorkflowExecutionTimedOutEventAttributes(_)) => {
                Self::TimedOut(timeout_failure())
            }
            Some(Attributes::WorkflowExecutionCanceledEventAttributes(_)) => {
                Self::Other(Status::Canceled)
            }
            _ => Self::Other(Status::Terminated),
        }
    }

    fn status(&self) -> Status {
        match self {
            Self::Completed(_) => Status::Completed,
            Self::Failed(_) => Status::Failed,
            Self::TimedOut(_) => Status::TimedOut,
            Self::Other(status) => *status,
        }
    }

    /// What the notes say if this end pauses the schedule; cancel and terminate don't.
    fn pause_notes(&self, workflow_id: &str) -> Option<String> {
        match self {
            Self::Failed(failure) => {
                let message = &failure.message;
                Some(format!("paused due to workflow failure: {workflow_id}: {message}"))
            }
            Self::TimedOut(_) => Some(format!("paused due to workflow timeout: {workflow_id}")),
            Self::Completed(_) | Self::Other(_) => None,
        }
    }
}

/// What the next run is told. A success resets the last failure; a failure leaves the last result.
fn remember(draft: &mut Draft<'_>, end: End) {
    let outcome = Arc::make_mut(&mut draft.schedule.outcome);
    match end {
        End::Completed(result) => {
            outcome.failure = None;
            outcome.result = result.or(outcome.result.take());
        }
        End::Failed(failure) | End::TimedOut(failure) => outcome.failure = Some(failure),
        End::Other(_) => return,
    }
    draft.touched.insert(SchedulePart::LastOutcome);
}
