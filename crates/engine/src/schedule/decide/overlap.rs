//! The overlap policy: what happens to a start while another run is open, and to buffered starts when it ends.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::store::Verdict;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use super::backfill::is_planned_before;
use crate::schedule::draft::{Draft, place};
use crate::schedule::ledger::{Dropped, Skip, is_manual};

/// Applies the overlap policy to a new start: it is started, buffered, or skipped.
pub(super) fn apply_policy(draft: &mut Draft<'_>, start: Arc<stored::PlannedStart>) {
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
            end_running(draft, start, policy == Overlap::TerminateOther);
        }
    }
}

/// Whether no run is open, no start is buffered, and none is chosen in this step.
fn is_free(draft: &Draft<'_>) -> bool {
    draft.chosen.is_none() && draft.schedule.running.is_empty() && draft.schedule.buffer.is_empty()
}

/// Chooses the start that leaves at the end of this step. Its ledger line is written then, perhaps after those of
/// later times: so those must not extend the line before it.
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

/// Ends all open runs to make room for the start. It is buffered until they have ended, and replaces a start that
/// waited for the same.
fn end_running(draft: &mut Draft<'_>, start: Arc<stored::PlannedStart>, terminate: bool) {
    if draft.schedule.running.is_empty() {
        // The chosen start hasn't left yet: there is no run to end.
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
    // A run that is being canceled can still be terminated. No request is sent twice, nor to a run that has ended.
    if run.closed_at != 0 || (run.is_ending && !terminate) {
        return;
    }
    let run = stored::ScheduledRun { is_ending: true, is_terminating: terminate, ..run.clone() };
    // If the start isn't answered yet, the message could arrive before it: it is sent after the answer.
    if run.is_started {
        send_end_request(draft, &run);
    }
    draft.put_running(run);
}

/// Sends the message that cancels or terminates a run.
pub(super) fn send_end_request(draft: &mut Draft<'_>, run: &stored::ScheduledRun) {
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
                // The run's chain may have continued in another run.
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

/// Starts what is buffered, in order, if no run is open. Starts without a policy of their own follow the schedule's
/// present one.
pub(super) fn drain_buffer(draft: &mut Draft<'_>) {
    if !draft.schedule.running.is_empty() || draft.chosen.is_some() {
        return;
    }
    let mut kept = 0;
    for start in draft.waiting() {
        // An earlier backfill still has starts to plan, which go first.
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

/// Applies a changed overlap policy to the buffered starts.
pub(super) fn reapply_policy(draft: &mut Draft<'_>) {
    let waiting = draft.waiting();
    for start in &waiting {
        draft.remove_buffered(start.sequence);
    }
    for start in waiting {
        apply_policy(draft, start);
    }
}

/// Starts the chosen start.
pub(super) fn start_chosen(draft: &mut Draft<'_>) {
    if let Some(start) = draft.chosen.take() {
        draft.start(&start);
    }
}
