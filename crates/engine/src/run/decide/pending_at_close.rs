//! The items that were pending when a run closed. Only describe shows them.

use perennial_proto::store as stored;
use prost::Message;

use crate::run::Run;

/// Above this size, activities are kept without heartbeat details and failures.
const BYTES_MAX: usize = 256 * 1024;

/// Copies the pending activities and children, before the close clears them.
pub(super) fn note(run: &mut Run) {
    if run.activities.is_empty() && run.children.is_empty() {
        return;
    }
    let mut bytes = 0;
    let activities = run.activities.values().map(|activity| {
        let mut activity = stored::PendingActivity::clone(activity);
        if let Some(scheduled) = &mut activity.scheduled {
            scheduled.input = None;
            scheduled.header = None;
        }
        bytes += activity.encoded_len();
        if bytes > BYTES_MAX {
            activity.heartbeat_details = None;
            activity.last_failure = None;
        }
        activity
    });
    let activities = activities.collect();
    let children = run.children.values().map(|child| {
        let mut child = stored::PendingChild::clone(child);
        if let Some(initiated) = &mut child.initiated {
            initiated.input = None;
            initiated.header = None;
            initiated.memo = None;
            initiated.search_attributes = None;
        }
        child
    });
    let children = children.collect();
    let noted = run.head.pending_at_close.get_or_insert_default();
    (noted.activities, noted.children) = (activities, children);
}

/// Copies a workflow task that no worker had taken.
pub(super) fn note_task(run: &mut Run, task: stored::WorkflowTask) {
    let is_speculative = task.kind() == stored::WorkflowTaskKind::Speculative;
    if task.started_at == 0 && !is_speculative {
        run.head.pending_at_close.get_or_insert_default().workflow_task = Some(task);
    }
}
