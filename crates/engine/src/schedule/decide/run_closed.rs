//! A run of the schedule has ended, with all its retries and continuations.
//!
//! For times that were due before the end, the run is still open, and its failure doesn't pause the schedule. If there
//! are more such times than one step settles, the end waits in the run's row until they have their verdict.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus as Status;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use super::overlap::{drain_buffer, start_chosen};
use super::pause_on_failure;
use super::start_answered::mark_started;
use crate::SchedulePart;
use crate::run::timeout_failure;
use crate::schedule::draft::Draft;

pub(super) fn handle(draft: &mut Draft<'_>, closed: &stored::ScheduledRunClosed) {
    let name = closed.run.clone().unwrap_or_default();
    let is_settled = super::settle::settle(draft);
    let running = &draft.schedule.running;
    // An end that already waits was reported before.
    let Some(run) = running.get(&name.first_run_id).filter(|run| run.closed_at == 0).cloned()
    else {
        return;
    };
    // The run may end before the answer to its start arrives.
    mark_started(draft, &run);
    let end = End::of(closed.close_event.as_ref());
    let status = end.status();
    let recent = draft.schedule.head.recent_actions.iter_mut();
    for action in recent.filter(|action| action.run_id == run.run_id) {
        action.status = status.into();
    }
    let pause_notes = pause_on_failure::notes(&end, &run.workflow_id).unwrap_or_default();
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
        remove_ended(draft, &run);
    } else {
        draft.put_running(run);
        draft.schedule.head.ends_waiting += 1;
    }
}

/// Removes the ended run, once all times that were due before its end are settled.
fn remove_ended(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    draft.remove_running(&run.run_id);
    pause_on_failure::apply(draft, run);
}

/// The runs whose end waits, in the order of their ends.
pub(super) fn waiting_ends(draft: &Draft<'_>) -> Vec<Arc<stored::ScheduledRun>> {
    if draft.schedule.head.ends_waiting == 0 {
        return Vec::new();
    }
    let running = draft.schedule.running.values();
    let mut waiting: Vec<_> = running.filter(|run| run.closed_at != 0).cloned().collect();
    waiting.sort_by_key(|run| run.closed_at);
    waiting
}

/// Handles an end that waited. The starts that were buffered behind the run go before times that are due later.
pub(super) fn finish_waiting_end(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    draft.schedule.head.ends_waiting -= 1;
    remove_ended(draft, run);
    drain_buffer(draft);
    start_chosen(draft);
}

/// How a run ended, as far as the schedule is concerned.
pub(super) enum End {
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
}

/// Stores what the next run receives. A success clears the last failure; a failure keeps the last result.
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
