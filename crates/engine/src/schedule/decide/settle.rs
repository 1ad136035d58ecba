//! Settling: decides the verdicts of due times, in order, a bounded number per step.

use std::sync::Arc;

use perennial_proto::perennial::CatchupMode;
use perennial_proto::store as stored;
use perennial_proto::store::{StartReason, Verdict};

use super::overlap::apply_policy;
use super::run_closed;
use crate::run::Rejection;
use crate::schedule::Reply;
use crate::schedule::draft::Draft;
use crate::schedule::ledger::Skip;
use crate::schedule::times::{Moment, Next};
use crate::{Span, Time};

/// With this many unanswered starts, a schedule stops settling by itself, so as not to flood a slow machine. Commands
/// that need all due times settled ignore it.
const UNANSWERED_STARTS_MAX: i64 = 100;
/// The most times that one step settles by the overlap policy.
const SETTLED_PER_STEP_MAX: usize = 500;
/// The most times that one step settles as missed, which is cheap.
const MISSED_PER_STEP_MAX: usize = 10_000;
/// A start with more delay than this is recorded as late, whatever the cause.
const LATE_AFTER: Span = Span::seconds(10);
/// The most left-out times recorded between two times that fire. Further ones aren't recorded.
const LEFT_OUT_PER_GAP_MAX: usize = 10_000;
/// How many rounds of settling a command makes that needs all due times settled.
const SETTLE_ROUNDS_MAX: usize = 20;

const OUTSIDE_CATCHUP_WINDOW: &str = "catchup_window";
const NOT_BY_CATCHUP_MODE: &str = "catchup_mode";

/// Settles the due times, and sets `has_more` if one step isn't enough. With too many unanswered starts it stops; the
/// next answer wakes the schedule. Returns false if it stopped early. Without `draft.evaluates` it does nothing and
/// returns true.
pub(super) fn settle(draft: &mut Draft<'_>) -> bool {
    settle_while(draft, |draft| !has_too_many_unanswered_starts(draft))
}

/// Whether so many starts are unanswered that no more are sent.
pub(super) fn has_too_many_unanswered_starts(draft: &Draft<'_>) -> bool {
    draft.schedule.head.starts_on_their_way >= UNANSWERED_STARTS_MAX
}

/// Settles due times and handles ends of runs in the order of their times: for a time after its end, a run has ended.
fn settle_while(draft: &mut Draft<'_>, may_continue: impl Fn(&Draft<'_>) -> bool) -> bool {
    if !draft.evaluates {
        return true;
    }
    draft.has_more = false;
    let now = draft.now();
    let mut done = StepCounts::default();
    for run in run_closed::waiting_ends(draft) {
        if !settle_up_to(draft, Time(run.closed_at), &mut done, &may_continue) {
            return false;
        }
        run_closed::finish_waiting_end(draft, &run);
    }
    settle_up_to(draft, now, &mut done, &may_continue)
}

/// Counts what one step has settled.
#[derive(Default)]
struct StepCounts {
    settled: usize,
    missed: usize,
}

/// Settles the times that are due by `until`, as many as one step may. Returns false if there are more.
fn settle_up_to(
    draft: &mut Draft<'_>,
    until: Time,
    done: &mut StepCounts,
    may_continue: impl Fn(&Draft<'_>) -> bool,
) -> bool {
    if draft.schedule.head.deleted_at != 0 {
        return true;
    }
    let now = draft.now();
    while draft.schedule.is_acting() {
        let after = Time(draft.schedule.head.settled_up_to);
        let moment = match draft.schedule.times.after(after) {
            Next::At(moment) if moment.due <= until => moment,
            Next::NoneUpTo(searched) if searched <= until && searched > after => {
                draft.schedule.head.settled_up_to = searched.0;
                done.settled += 1;
                continue;
            }
            Next::At(_) | Next::NoneUpTo(_) | Next::Never => return true,
        };
        if !may_continue(draft) {
            return false;
        }
        if done.settled >= SETTLED_PER_STEP_MAX || done.missed >= MISSED_PER_STEP_MAX {
            draft.has_more = true;
            return false;
        }
        record_left_out(draft, after, moment.nominal);
        draft.settled.push(moment.nominal);
        draft.schedule.head.settled_up_to = moment.nominal.0;
        match disposition(draft, moment, now) {
            Disposition::Missed(why) => {
                done.missed += 1;
                draft.schedule.head.missed_count += 1;
                draft.record_range((moment.nominal, moment.nominal), 1, Verdict::Missed, why);
            }
            Disposition::Backfilled => {
                done.settled += 1;
                draft.forget_early_start(moment.nominal.0);
                let (at, why) = (moment.nominal, Skip::Backfilled.text());
                draft.record_range((at, at), 1, Verdict::Skipped, why);
            }
            Disposition::Started(reason) => {
                done.settled += 1;
                let start = stored::PlannedStart {
                    nominal_at: moment.nominal.0,
                    due_at: moment.due.0,
                    reason: reason.into(),
                    ..stored::PlannedStart::default()
                };
                apply_policy(draft, Arc::new(start));
            }
        }
    }
    settle_inactive(draft, until);
    true
}

/// Settles the due times, as many as one step may, and returns the verdict of each. The rest of the step settles no
/// more, so that each time is reported by the command that settled it.
pub(super) fn evaluate(draft: &mut Draft<'_>) -> Reply {
    draft.evaluates = true;
    draft.settled.clear();
    let is_all = settle_while(draft, |_| true);
    super::overlap::start_chosen(draft);
    draft.evaluates = false;
    Reply::Evaluated { times: draft.evaluated_times(), has_more: !is_all }
}

/// Settles all due times.
///
/// # Errors
/// If that takes more than a command may do, and the caller has to retry; or if it deleted the schedule.
pub(super) fn settle_all(draft: &mut Draft<'_>) -> Result<(), Rejection> {
    draft.evaluates = true;
    for _ in 0..SETTLE_ROUNDS_MAX {
        settle_while(draft, |_| true);
        super::overlap::start_chosen(draft);
        if !draft.has_more {
            return draft.schedule.present().map(|_| ());
        }
    }
    Err(Rejection::Busy(
        "the schedule is catching up with times it has missed; try again in a moment".to_owned(),
    ))
}

enum Disposition {
    Started(StartReason),
    Backfilled,
    Missed(&'static str),
}

fn disposition(draft: &mut Draft<'_>, moment: Moment, now: Time) -> Disposition {
    if draft.schedule.ahead.contains(&moment.nominal.0) {
        return Disposition::Backfilled;
    }
    let lateness = now.since(moment.due);
    if lateness > draft.schedule.catchup_window() {
        return Disposition::Missed(OUTSIDE_CATCHUP_WINDOW);
    }
    let evaluated_since = draft.cx.evaluated.since();
    let is_missed = moment.due < evaluated_since;
    let is_late = is_missed || lateness > LATE_AFTER;
    let reason = if is_late { StartReason::Catchup } else { StartReason::Schedule };
    if !is_missed {
        return Disposition::Started(reason);
    }
    // Times of an earlier outage may still be unsettled: they belong to that outage.
    let head = &mut draft.schedule.head;
    if moment.due.0 >= head.outage_until {
        head.outage_until = evaluated_since.0;
        head.caught_up_once = false;
    }
    let last_of_outage = Time(head.outage_until.saturating_sub(1));
    let is_caught_up = match draft.schedule.extensions().catchup_mode() {
        CatchupMode::All => true,
        CatchupMode::None => false,
        CatchupMode::One => !std::mem::replace(&mut draft.schedule.head.caught_up_once, true),
        CatchupMode::Latest => {
            draft.schedule.times.last_due(moment.nominal, last_of_outage).is_none()
        }
    };
    if is_caught_up {
        Disposition::Started(reason)
    } else {
        Disposition::Missed(NOT_BY_CATCHUP_MODE)
    }
}

/// Records the times between two others that the spec leaves out, by its exclusions or because the clock jumps.
fn record_left_out(draft: &mut Draft<'_>, after: Time, before: Time) {
    if !draft.schedule.times.may_leave_out() {
        return;
    }
    let left_out = draft.schedule.times.left_out(after, before, LEFT_OUT_PER_GAP_MAX);
    for (at, why) in left_out {
        draft.record_range((at, at), 1, Verdict::Excluded, &why);
    }
}

/// Settles the times that passed while the schedule was paused or exhausted: one ledger line for all of them.
fn settle_inactive(draft: &mut Draft<'_>, until: Time) {
    let times = &draft.schedule.times;
    let after = Time(draft.schedule.head.settled_up_to);
    let first = match times.after(after) {
        Next::At(first) if first.due <= until => first,
        Next::At(_) | Next::NoneUpTo(_) | Next::Never => return,
    };
    let last = times.last_due(after, until).unwrap_or(first);
    let why = if draft.schedule.head.paused { Skip::Paused } else { Skip::Exhausted };
    draft.schedule.head.settled_up_to = last.nominal.0;
    let count = i64::from(first.nominal == last.nominal);
    draft.record_range((first.nominal, last.nominal), count, Verdict::Skipped, why.text());
}
