//! Pausing and unpausing a schedule.

use perennial_proto::perennial::CommandContext;

use super::settle::settle_all;
use crate::run::Rejection;
use crate::schedule::Reply;
use crate::schedule::draft::Draft;
use crate::schedule::ledger::Skip;

/// Pauses the schedule: settles the times that were due before, and skips buffered starts that nobody asked for.
pub(super) fn pause(
    draft: &mut Draft<'_>,
    notes: String,
    context: Option<CommandContext>,
) -> Result<Reply, Rejection> {
    draft.schedule.present()?;
    settle_all(draft)?;
    pause_now(draft, notes, context);
    Ok(Reply::Done)
}

pub(super) fn pause_now(draft: &mut Draft<'_>, notes: String, context: Option<CommandContext>) {
    let was_paused = std::mem::replace(&mut draft.schedule.head.paused, true);
    draft.schedule.head.notes.clone_from(&notes);
    draft.mark_configured();
    if !was_paused {
        draft.audit_paused(&notes, context);
        draft.skip_scheduled(Skip::Paused);
    }
}

/// Unpauses the schedule. The times that passed while it was paused stay skipped.
pub(super) fn unpause(
    draft: &mut Draft<'_>,
    notes: String,
    context: Option<CommandContext>,
) -> Result<Reply, Rejection> {
    draft.schedule.present()?;
    settle_all(draft)?;
    let was_paused = std::mem::replace(&mut draft.schedule.head.paused, false);
    draft.schedule.head.notes = notes;
    draft.mark_configured();
    if was_paused {
        draft.audit_resumed(context);
    }
    Ok(Reply::Done)
}
