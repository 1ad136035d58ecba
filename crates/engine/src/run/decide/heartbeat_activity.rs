//! A worker reports that an activity is alive.

use super::Decided;
use super::report_activity::running_activity;
use crate::run::{Context, HeartbeatActivity, HeartbeatReply, Reply, Run};

pub(super) fn decide(run: &Run, beat: HeartbeatActivity, cx: &Context<'_>) -> Decided {
    let activity = running_activity(run, &beat.target)?;
    let reply = HeartbeatReply {
        cancel_requested: activity.cancel_requested_event_id != 0,
        paused: activity.paused.is_some(),
        reset: activity.reset_requested,
    };
    let mut draft = run.draft(cx);
    let now = draft.now();
    let id = activity.scheduled_event_id;
    draft.run.change_activity(id, &mut draft.touched, |activity| {
        activity.heartbeat_at = now.0;
        activity.heartbeat_details = beat.details;
        if !beat.identity.is_empty() {
            activity.last_worker_identity = beat.identity;
        }
    });
    Ok(draft.done(Reply::Heartbeat(reply)))
}
