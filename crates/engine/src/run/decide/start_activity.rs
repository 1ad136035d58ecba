//! A worker polls and receives an activity.

use super::Decided;
use crate::run::{Context, Rejection, Reply, Run, StartActivity, TaskStamp};

pub(super) fn decide(run: &Run, start: StartActivity, cx: &Context<'_>) -> Decided {
    run.open()?;
    let offered = run.activities.get(&start.task.scheduled_event_id).filter(|activity| {
        activity.started_at == 0
            && activity.paused.is_none()
            && run.head.paused.is_none()
            && TaskStamp::from(&***activity) == start.task
    });
    if offered.is_none() {
        return Err(Rejection::TaskNotFound("Activity task not found.".to_owned()));
    }
    let mut draft = run.draft(cx);
    let now = draft.now();
    draft.run.change_activity(start.task.scheduled_event_id, &mut draft.touched, |activity| {
        activity.started_at = now.0;
        activity.identity = start.identity;
        activity.request_id = start.request_id;
        activity.reset_requested = false;
    });
    Ok(draft.done(Reply::TaskStarted))
}
