//! Pause on failure: a schedule with this setting pauses itself when a run fails or times out.

use perennial_proto::store as stored;

use super::pause::pause_now;
use super::run_closed::End;
use crate::schedule::draft::Draft;

/// The notes of a schedule that this end pauses; `None` if the end doesn't pause it, such as a cancellation.
pub(super) fn notes(end: &End, workflow_id: &str) -> Option<String> {
    match end {
        End::Failed(failure) => {
            let message = &failure.message;
            Some(format!("paused due to workflow failure: {workflow_id}: {message}"))
        }
        End::TimedOut(_) => Some(format!("paused due to workflow timeout: {workflow_id}")),
        End::Completed(_) | End::Other(_) => None,
    }
}

/// Pauses the schedule if it has the setting and `run` ended with a failure.
pub(super) fn apply(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    if draft.schedule.head.deleted_at == 0
        && !run.pause_notes.is_empty()
        && draft.schedule.config.pause_on_failure
        && !draft.schedule.head.paused
    {
        pause_now(draft, run.pause_notes.clone(), None);
    }
}
