//! A run has ended, with all its retries and continuations.
//!
//! What was due before the end sees the run going on, and isn't paused by its failure. If those times are more
//! than one step settles, the end waits in the run's row until they have their verdict.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus as Status;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use super::overlap::{drain, start_chosen};
use super::pause::pause_now;
use super::start_answered::heard;
use crate::SchedulePart;
use crate::run::timeout_failure;
use crate::schedule::draft::Draft;

pub(super) fn take(draft: &mut Draft<'_>, closed: &stored::ScheduledRunClosed) {
    let name = closed.run.clone().unwrap_or_default();
    let is_settled = super::settle::settle(draft);
    let running = &draft.schedule.running;
    // One whose end waits has been heard of before.
    let Some(run) = running.get(&name.first_run_id).filter(|run| run.closed_at == 0).cloned()
    else {
        return;
    };
    // It may end before the schedule hears that it began.
    heard(draft, &run);
    let end = End::of(closed.close_event.as_ref());
    let status = end.status();
    let recent = draft.schedule.head.recent_actions.iter_mut();
    for action in recent.filter(|action| action.run_id == run.run_id) {
        action.status = status.into();
    }
    let pause_notes = end.pause_notes(&run.workflow_id).unwrap_or_default();
    if draft.schedule.head.deleted_at == 0 {
        remember(draft, end);
    }
    let closed_at = draft.now().0;
    let run = stored::ScheduledRun {
        is_started: true,
        closed_at,
        pause_notes,
        ..stored::ScheduledRun::clone(&run)
    };
    if is_settled {
        let_go(draft, &run);
    } else {
        draft.put_running(run);
        draft.schedule.head.ends_waiting += 1;
    }
}

/// Everything that was due before the run ended has its verdict: what comes now doesn't see it any more.
fn let_go(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    draft.remove_running(&run.run_id);
    if draft.schedule.head.deleted_at == 0
        && !run.pause_notes.is_empty()
        && draft.schedule.config.pause_on_failure
        && !draft.schedule.head.paused
    {
        pause_now(draft, run.pause_notes.clone(), None);
    }
}

/// Runs whose end waits, in the order of their ends.
pub(super) fn waiting(draft: &Draft<'_>) -> Vec<Arc<stored::ScheduledRun>> {
    if draft.schedule.head.ends_waiting == 0 {
        return Vec::new();
    }
    let running = draft.schedule.running.values();
    let mut waiting: Vec<_> = running.filter(|run| run.closed_at != 0).cloned().collect();
    waiting.sort_by_key(|run| run.closed_at);
    waiting
}

/// The end of a run has waited long enough. What waited for that run takes its turn before times that are
/// due later.
pub(super) fn go_on_without(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    draft.schedule.head.ends_waiting -= 1;
    let_go(draft, run);
    drain(draft);
    start_chosen(draft);
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
