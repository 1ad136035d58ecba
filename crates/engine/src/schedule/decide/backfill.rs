//! Backfills: runs for the times of a window, a bounded number per step.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::store::StartReason;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;

use super::overlap::apply_policy;
use super::settle::has_too_many_unanswered_starts;
use crate::run::Rejection;
use crate::schedule::draft::Draft;
use crate::schedule::ledger::Skip;
use crate::schedule::times::Next;
use crate::schedule::{NewBackfill, Reply};
use crate::{SchedulePart, Time};

/// The most starts that backfills plan in one step.
const PLANNED_PER_STEP_MAX: usize = 500;
/// The most buffered starts of a backfill. The rest of a long backfill stays a window until there is room.
const BUFFERED_MAX: usize = 1_000;
/// Finished backfills that are kept for describe.
const FINISHED_MAX: usize = 20;
/// The most unfinished backfills.
const UNFINISHED_MAX: usize = 100;

pub(super) fn begin(draft: &mut Draft<'_>, wanted: NewBackfill) -> Result<Reply, Rejection> {
    draft.schedule.present()?;
    if let Some(taken) = super::taken_before(draft, &wanted.request_id) {
        // Requests of earlier versions share the sequence of starts.
        let number = if taken.backfill == 0 { taken.sequence } else { taken.backfill };
        return Ok(Reply::Backfill(number));
    }
    if wanted.to < wanted.from {
        let why = "the backfill's end time is before its start time".to_owned();
        return Err(Rejection::InvalidArgument(why));
    }
    if unfinished(draft).len() >= UNFINISHED_MAX {
        let why =
            format!("the schedule has {UNFINISHED_MAX} unfinished backfills, the most it may have");
        return Err(Rejection::LimitExceeded(why));
    }
    let place = draft.next_sequence();
    let sequence = next_number(draft);
    super::remember(
        draft,
        stored::TakenRequest {
            request_id: wanted.request_id,
            backfill: sequence,
            ..stored::TakenRequest::default()
        },
    );
    let backfill = stored::Backfill {
        sequence,
        place,
        from: wanted.from.0,
        to: wanted.to.0,
        overlap_policy: wanted.overlap_policy.into(),
        // Times are searched strictly after this one.
        done_up_to: wanted.from.0.saturating_sub(1),
        created_at: draft.now().0,
        context: wanted.context,
        ..stored::Backfill::default()
    };
    draft.schedule.backfills.insert(sequence, Arc::new(backfill));
    draft.touched.insert(SchedulePart::Backfill(sequence));
    forget_old(draft);
    Ok(Reply::Backfill(sequence))
}

pub(super) fn cancel(draft: &mut Draft<'_>, sequence: i64) -> Result<Reply, Rejection> {
    draft.schedule.present()?;
    let now = draft.now();
    let Some(backfill) = draft.schedule.backfills.get(&sequence) else {
        return Err(Rejection::NotFound(format!("the schedule has no backfill {sequence}")));
    };
    if backfill.finished_at != 0 {
        return Ok(Reply::Done);
    }
    let is_its = |start: &&Arc<stored::PlannedStart>| start.backfill == sequence;
    let waiting: Vec<_> = draft.schedule.buffer.values().filter(is_its).cloned().collect();
    for start in waiting {
        draft.skip(&start, Skip::Canceled);
    }
    draft.change_backfill(sequence, |backfill| {
        backfill.finished_at = now.0;
        backfill.is_canceled = true;
    });
    Ok(Reply::Done)
}

/// Plans starts of the unfinished backfills, as many as one step may.
pub(super) fn plan(draft: &mut Draft<'_>) {
    let mut left = PLANNED_PER_STEP_MAX;
    for sequence in unfinished(draft) {
        let is_its = |start: &&Arc<stored::PlannedStart>| start.backfill == sequence;
        let mut room =
            BUFFERED_MAX - draft.schedule.buffer.values().filter(is_its).count().min(BUFFERED_MAX);
        while draft.schedule.head.deleted_at == 0 && may_plan(draft, sequence, room) {
            if left == 0 {
                draft.has_more = true;
                return;
            }
            left -= 1;
            room = room.saturating_sub(1);
            if !plan_next(draft, sequence) {
                break;
            }
        }
    }
}

/// Whether all sequential backfills that were requested before this place have planned all of their starts.
pub(super) fn is_planned_before(draft: &Draft<'_>, place: i64) -> bool {
    let mut backfills = draft.schedule.backfills.values();
    !backfills.any(|backfill| {
        backfill.finished_at == 0
            && !backfill.is_planned
            && place_of(backfill) < place
            && is_sequential(draft, backfill)
    })
}

/// The backfill's place among the buffered starts. Backfills of earlier versions share the sequence of starts.
fn place_of(backfill: &stored::Backfill) -> i64 {
    if backfill.place == 0 { backfill.sequence } else { backfill.place }
}

/// Whether the backfill's starts wait for each other.
fn is_sequential(draft: &Draft<'_>, backfill: &stored::Backfill) -> bool {
    draft.schedule.overlap_policy(backfill.overlap_policy()) == ScheduleOverlapPolicy::BufferAll
}

/// The next backfill number, from 1. Backfills of earlier versions share the sequence of starts.
fn next_number(draft: &mut Draft<'_>) -> i64 {
    let last = draft.schedule.backfills.keys().max().copied().unwrap_or(0);
    let head = &mut draft.schedule.head;
    head.last_backfill = head.last_backfill.max(last) + 1;
    head.last_backfill
}

/// Marks backfills as finished whose times have all been started or skipped.
pub(super) fn finish(draft: &mut Draft<'_>) {
    let now = draft.now();
    for sequence in unfinished(draft) {
        let is_done = draft.schedule.backfills.get(&sequence).is_some_and(|backfill| {
            backfill.is_planned && backfill.started + backfill.skipped == backfill.planned
        });
        if is_done {
            draft.change_backfill(sequence, |backfill| backfill.finished_at = now.0);
        }
    }
}

pub(super) fn unfinished(draft: &Draft<'_>) -> Vec<i64> {
    let backfills = draft.schedule.backfills.values();
    backfills.filter(|it| it.finished_at == 0).map(|it| it.sequence).collect()
}

/// Whether the next start of a backfill may be planned. A sequential backfill fills the buffer only as far as `room`,
/// and only after the earlier ones are planned.
fn may_plan(draft: &Draft<'_>, sequence: i64, room: usize) -> bool {
    let Some(backfill) = draft.schedule.backfills.get(&sequence) else { return false };
    !backfill.is_planned
        && !has_too_many_unanswered_starts(draft)
        && (!is_sequential(draft, backfill)
            || room > 0 && is_planned_before(draft, place_of(backfill)))
}

/// Plans the next start of a backfill. Returns false if there is none.
fn plan_next(draft: &mut Draft<'_>, sequence: i64) -> bool {
    let Some(backfill) = draft.schedule.backfills.get(&sequence).cloned() else { return false };
    let to = Time(backfill.to);
    let nominal = match draft.schedule.times.after(Time(backfill.done_up_to)) {
        Next::At(moment) if moment.nominal <= to => moment.nominal,
        Next::NoneUpTo(searched) if searched < to => {
            draft.change_backfill(sequence, |backfill| backfill.done_up_to = searched.0);
            return true;
        }
        Next::At(_) | Next::NoneUpTo(_) | Next::Never => {
            draft.change_backfill(sequence, |backfill| backfill.is_planned = true);
            return false;
        }
    };
    draft.change_backfill(sequence, |backfill| {
        backfill.done_up_to = nominal.0;
        backfill.planned += 1;
    });
    if nominal.0 > draft.schedule.head.settled_up_to {
        Arc::make_mut(&mut draft.schedule.ahead).insert(nominal.0);
        draft.touched.insert(SchedulePart::Ahead(nominal.0));
    }
    let start = stored::PlannedStart {
        sequence: draft.next_sequence(),
        nominal_at: nominal.0,
        due_at: nominal.0,
        reason: StartReason::Backfill.into(),
        overlap_policy: backfill.overlap_policy,
        backfill: sequence,
        place: place_of(&backfill),
        ..stored::PlannedStart::default()
    };
    apply_policy(draft, Arc::new(start));
    true
}

fn forget_old(draft: &mut Draft<'_>) {
    let finished: Vec<_> = draft
        .schedule
        .backfills
        .values()
        .filter(|it| it.finished_at != 0)
        .map(|it| it.sequence)
        .collect();
    let surplus = finished.len().saturating_sub(FINISHED_MAX);
    for sequence in finished.into_iter().take(surplus) {
        draft.schedule.backfills.remove(&sequence);
        draft.touched.insert(SchedulePart::Backfill(sequence));
    }
}
