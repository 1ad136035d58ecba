//! The answer to a start.

use perennial_proto::store as stored;
use perennial_proto::store::Verdict;
use perennial_proto::store::entity_message::Body;

use super::overlap::send_end_request;
use crate::run::Answer;
use crate::schedule::draft::Draft;
use crate::schedule::ledger::{Skip, is_manual};

pub(super) fn handle(draft: &mut Draft<'_>, message: &stored::EntityMessage, answer: &Answer) {
    let run_id = match &message.body {
        Some(Body::StartRun(start)) => &start.run_id,
        // Cancel and terminate requests need no answer: the end of the run is reported.
        _ => return,
    };
    let Some(run) = draft.schedule.running.get(run_id).cloned() else { return };
    if is_refusal(answer) {
        return undo_start(draft, &run);
    }
    mark_started(draft, &run);
    if run.is_assumed {
        let run = stored::ScheduledRun::clone(&run);
        draft.put_running(stored::ScheduledRun { is_assumed: false, ..run });
    }
    if run.is_ending && !run.is_started {
        send_end_request(draft, &run);
    }
}

/// The run id of a refused start, if this answer to a message is a refusal.
pub fn refused_start<'m>(message: &'m stored::EntityMessage, answer: &Answer) -> Option<&'m str> {
    match &message.body {
        Some(Body::StartRun(start)) if is_refusal(answer) => Some(&start.run_id),
        _ => None,
    }
}

fn is_refusal(answer: &Answer) -> bool {
    match answer {
        Answer::Started(_) | Answer::Taken => false,
        Answer::IdTaken
        | Answer::RunNotFound
        | Answer::NamespaceNotFound
        | Answer::TooManySignals => true,
    }
}

/// Marks the run as started.
pub(super) fn mark_started(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    if !run.is_started {
        draft.schedule.head.starts_on_their_way -= 1;
        draft.audit_triggered(run);
        draft.put_running(stored::ScheduledRun { is_started: true, ..run.clone() });
    }
}

/// Undoes a start that was refused because another run has its workflow id. It doesn't count.
fn undo_start(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    draft.remove_running(&run.run_id);
    let start = run.start.clone().unwrap_or_default();
    let head = &mut draft.schedule.head;
    head.action_count -= 1;
    head.starts_on_their_way -= i64::from(!run.is_started);
    head.recent_actions.retain(|action| action.run_id != run.run_id);
    if !is_manual(&start) {
        head.remaining_actions += i64::from(head.limited_actions);
    }
    if start.backfill != 0 {
        draft.change_backfill(start.backfill, |backfill| backfill.started -= 1);
    }
    // The start has its ledger line already, which may not be the latest one.
    let open = draft.schedule.head.open_range.take();
    draft.record(&start, Verdict::Skipped, Skip::IdTaken.text(), None);
    draft.schedule.head.open_range = open;
    // A deleted schedule reports no skips.
    if draft.schedule.head.deleted_at == 0 {
        draft.finish_skip(&start, Skip::IdTaken);
    }
}
