//! Deletes a schedule. Its runs continue, and its ledger stays readable.

use perennial_proto::perennial::CommandContext;
use perennial_proto::store as stored;

use super::backfill::unfinished;
use super::start_answered::mark_started;
use crate::schedule::draft::Draft;
use crate::schedule::ledger::Dropped;

pub(in crate::schedule) fn delete(
    draft: &mut Draft<'_>,
    reason: &str,
    context: Option<CommandContext>,
) {
    let now = draft.now();
    let waiting: Vec<_> = draft.waiting().into_iter().chain(draft.chosen.take()).collect();
    for start in waiting {
        draft.drop_start(&start, Dropped::Deleted);
    }
    for sequence in unfinished(draft) {
        draft.change_backfill(sequence, |backfill| {
            backfill.finished_at = now.0;
            backfill.is_canceled = true;
        });
    }
    draft.schedule.head.deleted_at = now.0;
    draft.schedule.head.delete_reason = reason.to_owned();
    draft.has_more = false;
    draft.mark_configured();
    // Nothing follows the deletion in the audit stream, so unanswered starts are reported as started now.
    let running: Vec<_> = draft.schedule.running.values().cloned().collect();
    for run in running.iter().filter(|run| !run.is_started) {
        mark_started(draft, run);
        let run = stored::ScheduledRun::clone(run);
        draft.put_running(stored::ScheduledRun { is_started: true, is_assumed: true, ..run });
    }
    draft.audit_skips();
    draft.audit_deleted(reason, context);
}
