//! What happens to a start while another run goes on, and to those that waited when it ends.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::store::Verdict;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use super::backfill::is_planned_before;
use crate::schedule::draft::{Draft, place};
use crate::schedule::ledger::{Dropped, Skip, is_manual};

/// Gives a new start its place: it goes at once, waits, or comes to nothing.
pub(super) fn take(draft: &mut Draft<'_>, start: Arc<stored::PlannedStart>) {
    let policy = draft.schedule.overlap_policy(start.overlap_policy());
    if policy == Overlap::AllowAll {
        return draft.start(&start);
    }
    if is_free(draft) {
        return choose(draft, start);
    }
    match policy {
        Overlap::Skip | Overlap::Unspecified | Overlap::AllowAll => {
            draft.skip(&start, Skip::Overlap);
        }
        Overlap::BufferOne if !draft.schedule.buffer.is_empty() => {
            draft.skip(&start, Skip::Overlap);
        }
        Overlap::BufferOne | Overlap::BufferAll => buffer(draft, start),
        Overlap::CancelOther | Overlap::TerminateOther => {
            end_others(draft, start, policy == Overlap::TerminateOther);
        }
    }
}

/// Nothing runs, waits, or is about to run.
fn is_free(draft: &Draft<'_>) -> bool {
    draft.chosen.is_none() && draft.schedule.running.is_empty() && draft.schedule.buffer.is_empty()
}

/// The start leaves when the step is over. Its line is written then, and the times after it may have theirs
/// before: they don't go on with what was said of the times before it.
fn choose(draft: &mut Draft<'_>, start: Arc<stored::PlannedStart>) {
    if !is_manual(&start) {
        draft.schedule.head.open_range = None;
    }
    draft.chosen = Some(start);
}

fn buffer(draft: &mut Draft<'_>, start: Arc<stored::PlannedStart>) {
    let max = usize::try_from(draft.schedule.extensions().buffer_max).unwrap_or(0);
    if max > 0 && draft.schedule.buffer.len() >= max {
        return draft.drop_start(&start, Dropped::BufferFull);
    }
    let mut start = stored::PlannedStart::clone(&start);
    if start.sequence == 0 {
        start.sequence = draft.next_sequence();
    }
    draft.record(&start, Verdict::Buffered, "", None);
    draft.put_buffered(Arc::new(start));
}

/// The start takes the place of whatever runs. It waits until that has ended; one that waited for the same
/// is replaced.
fn end_others(draft: &mut Draft<'_>, start: Arc<stored::PlannedStart>, terminate: bool) {
    if draft.schedule.running.is_empty() {
        // What was to run hasn't begun: there is nothing to end.
        if let Some(replaced) = draft.chosen.take() {
            draft.skip(&replaced, Skip::Overlap);
        }
        draft.chosen = Some(start);
        return;
    }
    for other in draft.waiting() {
        match draft.schedule.overlap_policy(other.overlap_policy()) {
            Overlap::CancelOther | Overlap::TerminateOther => draft.skip(&other, Skip::Overlap),
            Overlap::Unspecified
            | Overlap::Skip
            | Overlap::BufferOne
            | Overlap::BufferAll
            | Overlap::AllowAll => {}
        }
    }
    buffer(draft, start);
    let running: Vec<_> = draft.schedule.running.values().cloned().collect();
    for run in running {
        end(draft, &run, terminate);
    }
}

fn end(draft: &mut Draft<'_>, run: &stored::ScheduledRun, terminate: bool) {
    // One that is being canceled can still be terminated; nothing is asked twice, nor of one that has ended.
    if run.closed_at != 0 || (run.is_ending && !terminate) {
        return;
    }
    let run = stored::ScheduledRun { is_ending: true, is_terminating: terminate, ..run.clone() };
    // Its start may still be on its way, and what ends it would come first.
    if run.is_started {
        tell_to_end(draft, &run);
    }
    draft.put_running(run);
}

/// Sends what cancels a run, or terminates it.
pub(super) fn tell_to_end(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
    let body = if run.is_terminating {
        let reason = "terminated by schedule overlap policy".to_owned();
        Body::Terminate(stored::TerminateRun { reason })
    } else {
        Body::Cancel(stored::CancelRun {
            reason: "cancelled by schedule overlap policy".to_owned(),
            ..stored::CancelRun::default()
        })
    };
    draft.messages.push(stored::EntityMessage {
        sender: Some(draft.schedule.address()),
        target: Some(
            stored::RunName {
                namespace: draft.schedule.head.namespace,
                workflow_id: run.workflow_id.clone(),
                // Its chain may have gone on in another run.
                first_run_id: run.run_id.clone(),
                ..stored::RunName::default()
            }
            .into(),
        ),
        request_id: format!("{}:end:{}", draft.schedule.head.incarnation, run.run_id),
        body: Some(body),
        ..stored::EntityMessage::default()
    });
}

/// Nothing runs any more: what waited takes its turn, in order. Starts that name no policy follow the one
/// the schedule has now.
pub(super) fn drain(draft: &mut Draft<'_>) {
    if !draft.schedule.running.is_empty() || draft.chosen.is_some() {
        return;
    }
    let mut kept = 0;
    for start in draft.waiting() {
        // The rest of a backfill that was asked for before is still to be planned: it goes first.
        if !is_planned_before(draft, place(&start)) {
            return;
        }
        let policy = draft.schedule.overlap_policy(start.overlap_policy());
        if policy == Overlap::AllowAll {
            draft.start(&start);
            continue;
        }
        let Some(chosen) = draft.chosen.clone() else {
            draft.chosen = Some(start);
            continue;
        };
        match policy {
            Overlap::Skip | Overlap::Unspecified | Overlap::AllowAll => {
                draft.skip(&start, Skip::Overlap);
            }
            Overlap::BufferOne if kept > 0 => draft.skip(&start, Skip::Overlap),
            Overlap::BufferOne | Overlap::BufferAll => kept += 1,
            Overlap::CancelOther | Overlap::TerminateOther => {
                draft.skip(&chosen, Skip::Overlap);
                draft.chosen = Some(start);
            }
        }
    }
}

/// The schedule has another policy: what waits and names none of its own meets that one.
pub(super) fn reconsider(draft: &mut Draft<'_>) {
    let waiting = draft.waiting();
    for start in &waiting {
        draft.remove_buffered(start.sequence);
    }
    for start in waiting {
        take(draft, start);
    }
}

/// The start that was chosen leaves.
pub(super) fn start_chosen(draft: &mut Draft<'_>) {
    if let Some(start) = draft.chosen.take() {
        draft.start(&start);
    }
}
