//! Checks that nothing is left over at the end: due times are settled, buffered starts have started, runs have ended.

use perennial_proto::store::Verdict;
use perennial_store::Log;

use super::cadence::rfc3339;
use super::outages::Outages;
use super::{Others, ScheduleSeen, Schedules, Violation};

const PROMISE: &str = "nothing is stuck";

impl Schedules {
    /// Checks that all due times are settled at a moment when no actor has anything to do.
    pub(in crate::audit) fn check_idle(&self, now: i64) -> Option<Violation> {
        let evaluated = self.seen.values().filter(|_| !self.outages.is_on_demand());
        evaluated.into_iter().find_map(|schedule| overdue(schedule, now))
    }
}

pub(super) fn check(
    schedule: &ScheduleSeen,
    outages: &Outages,
    others: Others<'_>,
) -> Option<Violation> {
    let wrong = |what: String| Some(schedule.violation(PROMISE, what));
    if schedule.head.deleted_at != 0 {
        let waits = |verdict| verdict == Verdict::Buffered;
        let mut lines = schedule.ledger(Log::Ledger).chain(schedule.ledger(Log::ManualLedger));
        let waiting = lines.find(|line| waits(line.verdict()))?;
        return wrong(format!("{} waits for ever", rfc3339(waiting.nominal_at)));
    }
    if let Some(run) = schedule.running.values().next() {
        let (id, run_id) = (&run.workflow_id, &run.run_id);
        return wrong(format!("it believes that {id} {run_id} runs, and nothing does"));
    }
    if let Some(start) = schedule.buffer.values().next() {
        let at = rfc3339(start.nominal_at);
        return wrong(format!("the start for {at} waits, and nothing runs"));
    }
    let is_unfinished = |it: &&perennial_proto::store::Backfill| it.finished_at == 0;
    if let Some(backfill) = schedule.backfills.values().find(is_unfinished) {
        return wrong(format!("backfill {} isn't over", backfill.sequence));
    }
    // On demand, times that nobody has evaluated stay due.
    if outages.is_on_demand() { None } else { overdue(schedule, others.now.0) }
}

fn overdue(schedule: &ScheduleSeen, now: i64) -> Option<Violation> {
    let head = &schedule.head;
    let is_exhausted = head.limited_actions && head.remaining_actions <= 0;
    if head.deleted_at != 0 || head.paused || is_exhausted {
        return None;
    }
    let segments = schedule.segments();
    let cadence = &segments.last()?.cadence;
    let next = cadence.after(head.settled_up_to)?;
    (cadence.due_by(next) <= now).then(|| {
        let what = format!("{} was due, and nothing came of it", rfc3339(next));
        schedule.violation(PROMISE, what)
    })
}
