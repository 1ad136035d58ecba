//! Checks that a paused schedule starts nothing by itself, and that its times are recorded as paused.

use perennial_proto::store::Verdict;
use perennial_store::Log;

use super::cadence::rfc3339;
use super::{ScheduleSeen, Violation};

const PROMISE: &str = "what is paused starts nothing by itself";
const PAUSED: &str = "paused";

pub(super) fn check(schedule: &ScheduleSeen) -> Option<Violation> {
    let wrong = |what: String| Some(schedule.violation(PROMISE, what));
    let pauses = schedule.pauses();
    let expected = schedule.expected(schedule.head.settled_up_to);
    for line in schedule.ledger(Log::Ledger) {
        let shown =
            format!("{:?} {} for {}", line.verdict(), line.reason, rfc3339(line.nominal_at));
        let decided = line.decided_at;
        let is_started = matches!(line.verdict(), Verdict::Fired | Verdict::Late);
        if is_started && pauses.iter().any(|(from, to)| *from < decided && decided < *to) {
            return wrong(format!("{shown}: it was decided while it was paused"));
        }
        let is_paused = line.reason == PAUSED;
        if is_paused && !pauses.iter().any(|(from, to)| *from <= decided && decided <= *to) {
            return wrong(format!("{shown}: it was decided while it wasn't paused"));
        }
        for (time, expected) in expected.range(line.nominal_at..=line.until) {
            let may_be_paused = pauses
                .iter()
                .any(|(from, to)| *from <= expected.due_by.max(decided) && *time <= *to);
            if is_paused && !may_be_paused {
                return wrong(format!("{shown}: it wasn't paused at {}", rfc3339(*time)));
            }
            let was_paused = pauses.iter().any(|(from, to)| *from < *time && expected.due_by < *to);
            let passes = is_paused || line.reason == "updated";
            if was_paused && !passes {
                return wrong(format!("{shown}: it was paused at {}", rfc3339(*time)));
            }
        }
    }
    None
}
