//! Checks that each time from creation up to the schedule's progress has one verdict, and that no other time has one.

use std::collections::BTreeMap;

use perennial_proto::store::Verdict;
use perennial_store::Log;

use super::cadence::rfc3339;
use super::{ScheduleSeen, Violation, Written};

const PROMISE: &str = "each time of a schedule has one verdict";

/// A time of a schedule.
pub(super) struct Expected {
    /// The latest instant at which it can be due.
    pub(super) due_by: i64,
}

impl ScheduleSeen {
    /// All times up to an instant.
    pub(super) fn expected(&self, up_to: i64) -> BTreeMap<i64, Expected> {
        let mut expected = BTreeMap::new();
        for segment in self.segments() {
            for at in segment.cadence.between(segment.after, segment.up_to.min(up_to)) {
                expected.insert(at, Expected { due_by: segment.cadence.due_by(at) });
            }
        }
        expected
    }
}

pub(super) fn check(schedule: &ScheduleSeen) -> Option<Violation> {
    gaps(schedule).or_else(|| changes(schedule))
}

fn gaps(schedule: &ScheduleSeen) -> Option<Violation> {
    let wrong = |what: String| Some(schedule.violation(PROMISE, what));
    let watermark = schedule.head.settled_up_to;
    let expected = schedule.expected(watermark);
    let mut last = schedule.head.created_at;
    for line in schedule.ledger(Log::Ledger) {
        let (from, to, verdict) = (line.nominal_at, line.until, line.verdict());
        let shown = format!("{verdict:?} {} for {}", line.reason, rfc3339(from));
        if from <= last {
            return wrong(format!("{shown} comes after {}", rfc3339(last)));
        }
        if let Some((time, _)) = expected.range(last + 1..from).next() {
            return wrong(format!("{} has none; the next is {shown}", rfc3339(*time)));
        }
        if to > watermark {
            return wrong(format!("{shown} is beyond its progress {}", rfc3339(watermark)));
        }
        if !expected.contains_key(&from) || !expected.contains_key(&to) {
            return wrong(format!("{shown} up to {} is none of its times", rfc3339(to)));
        }
        let count = expected.range(from..=to).count() as i64;
        if line.count != 0 && line.count != count {
            return wrong(format!("{shown} counts {} times, and they are {count}", line.count));
        }
        last = to;
    }
    let (time, _) = expected.range(last + 1..).next()?;
    wrong(format!("{} has none, and progress is {}", rfc3339(*time), rfc3339(watermark)))
}

/// Checks that a final verdict never changes.
fn changes(schedule: &ScheduleSeen) -> Option<Violation> {
    let scheduled = schedule.lines.iter().filter(|((log, _), _)| *log == Log::Ledger);
    let pairs = scheduled.flat_map(|(_, versions)| versions.windows(2));
    let is_wrong = |pair: &&[Written]| match pair {
        [before, after] => !may_become(before, after),
        _ => false,
    };
    pairs.into_iter().find(is_wrong).map(|pair| {
        let shown =
            |it: &Written| format!("{:?} {} {}", it.line.verdict(), it.line.reason, it.line.run_id);
        let shown: Vec<_> = pair.iter().map(shown).collect();
        let at = pair.first().map_or(0, |it| it.line.nominal_at);
        let what = format!("that of {} was {}", rfc3339(at), shown.join(", and then "));
        schedule.violation("a verdict that is final stays", what)
    })
}

fn may_become(before: &Written, after: &Written) -> bool {
    let (before, after) = (&before.line, &after.line);
    let is_same = before.verdict == after.verdict && before.reason == after.reason;
    match before.verdict() {
        Verdict::Buffered => true,
        Verdict::Fired | Verdict::Late => {
            (is_same && before.run_id == after.run_id) || after.reason == "workflow_id_taken"
        }
        Verdict::Skipped | Verdict::Missed => is_same && before.until <= after.until,
        Verdict::Dropped | Verdict::Excluded | Verdict::Unspecified => false,
    }
}
