//! A trigger: starts a run now.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::store::StartReason;

use super::overlap::{apply_policy, start_chosen};
use super::settle::settle;
use crate::run::Rejection;
use crate::schedule::draft::Draft;
use crate::schedule::ledger::{Dropped, Skip};
use crate::schedule::{Reply, Trigger, Triggered};

/// Ignores pauses and limits; the overlap policy applies.
pub(super) fn trigger(draft: &mut Draft<'_>, trigger: Trigger) -> Result<Reply, Rejection> {
    draft.schedule.present()?;
    if let Some(taken) = super::taken_before(draft, &trigger.request_id) {
        return Ok(Reply::Triggered(outcome_of(draft, taken.sequence)));
    }
    // Times that were due and requests that were made before go first.
    settle(draft);
    super::backfill::plan(draft);
    draft.schedule.present()?;
    let sequence = draft.next_sequence();
    let request_id = trigger.request_id;
    super::remember(
        draft,
        stored::TakenRequest { request_id, sequence, ..stored::TakenRequest::default() },
    );
    let at = trigger.scheduled_at.unwrap_or_else(|| draft.now());
    let start = stored::PlannedStart {
        sequence,
        nominal_at: at.0,
        due_at: at.0,
        reason: StartReason::Trigger.into(),
        overlap_policy: trigger.overlap_policy.into(),
        has_input: trigger.input.is_some(),
        input: trigger.input,
        context: trigger.context,
        ..stored::PlannedStart::default()
    };
    if draft.schedule.times.broken().is_some() {
        draft.skip(&start, Skip::NotTriggerable);
        let reason = Skip::NotTriggerable.text();
        return Ok(Reply::Triggered(Triggered::Skipped { reason }));
    }
    apply_policy(draft, Arc::new(start));
    start_chosen(draft);
    Ok(Reply::Triggered(outcome_of(draft, sequence)))
}

fn outcome_of(draft: &Draft<'_>, sequence: i64) -> Triggered {
    let schedule = &draft.schedule;
    let is_it = |run: &stored::ScheduledRun| {
        run.start.as_ref().is_some_and(|start| start.sequence == sequence)
    };
    if let Some(run) = schedule.running.values().find(|run| is_it(run)) {
        let (workflow_id, run_id) = (run.workflow_id.clone(), run.run_id.clone());
        return Triggered::Started { workflow_id, run_id };
    }
    if schedule.buffer.contains_key(&sequence) {
        return Triggered::Buffered { depth: schedule.buffer.len() };
    }
    // The run has ended, or the start was skipped.
    let taken = schedule.head.requests.iter().find(|taken| taken.sequence == sequence);
    match taken.filter(|taken| !taken.run_id.is_empty()) {
        Some(stored::TakenRequest { workflow_id, run_id, .. }) => {
            Triggered::Started { workflow_id: workflow_id.clone(), run_id: run_id.clone() }
        }
        None => {
            let reason = taken.map_or("", |taken| taken.skip_reason.as_str());
            if let Some(why) = Dropped::named(reason) {
                return Triggered::Dropped { reason: why.text() };
            }
            let why = Skip::named(reason);
            Triggered::Skipped { reason: why.unwrap_or(Skip::Overlap).text() }
        }
    }
}
