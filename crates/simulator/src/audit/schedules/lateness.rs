//! Checks that nothing starts early, and that late starts are recorded as late or missed.

use perennial_engine::Span;
use perennial_proto::perennial::CatchupMode;
use perennial_proto::store::{Occurrence, StartReason, Verdict};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;
use perennial_store::Log;

use super::cadence::rfc3339;
use super::{ScheduleSeen, Since, Violation, Written};

/// A start with more delay than this, in nanoseconds, is late.
const LATE_AFTER: i64 = Span::seconds(10).0;

pub(super) fn check(schedule: &ScheduleSeen) -> Option<Violation> {
    let expected = schedule.expected(schedule.head.settled_up_to);
    let scheduled = schedule.lines.iter().filter(|((log, _), _)| *log == Log::Ledger);
    // Whether a buffered start was missed is decided when it is buffered.
    let evaluated_since = |versions: &'_ [Written]| versions.first().and_then(|first| first.since);
    let all = scheduled.flat_map(|(_, versions)| {
        let since = evaluated_since(versions);
        versions.iter().map(move |written| (written, since))
    });
    for (written, since) in all {
        let line = &written.line;
        let due_by = expected.get(&line.nominal_at).map_or(i64::MAX, |it| it.due_by);
        let is_own = matches!(
            line.verdict(),
            Verdict::Fired | Verdict::Late | Verdict::Buffered | Verdict::Dropped
        );
        let wrong = (is_own.then(|| early(line, due_by)).flatten())
            .or_else(|| called_wrongly(line, since))
            .or_else(|| missed_wrongly(written));
        if let Some(what) = wrong {
            let (verdict, at) = (line.verdict(), rfc3339(line.nominal_at));
            let what = format!(
                "{verdict:?} {} for {at}: {what}; its writer evaluates since {since:?}, it is due at {} and decided at {}",
                line.reason, line.due_at, line.decided_at
            );
            return Some(schedule.violation("nothing starts early, and late is called so", what));
        }
    }
    first_versions(schedule).find_map(|written| caught_up_wrongly(schedule, written))
}

fn early(line: &Occurrence, due_by: i64) -> Option<String> {
    let (nominal, due, decided) = (line.nominal_at, line.due_at, line.decided_at);
    if due < nominal || due > due_by {
        return Some(format!("it is due {} ns after, at most {}", due - nominal, due_by - nominal));
    }
    (decided < due).then(|| format!("it is decided {} ns early", due - decided))
}

fn called_wrongly(line: &Occurrence, since: Option<Since>) -> Option<String> {
    let may_be_missed = since.is_some_and(|since| line.due_at < since.latest);
    let is_late = may_be_missed || line.decided_at - line.due_at > LATE_AFTER;
    (line.verdict() == Verdict::Late && !is_late).then(|| "it isn't".to_owned())
}

fn missed_wrongly(written: &Written) -> Option<String> {
    let line = &written.line;
    if line.verdict() != Verdict::Missed || written.is_unclear {
        return None;
    }
    let lateness = line.decided_at.max(line.last_decided_at) - line.until;
    match line.reason.as_str() {
        "catchup_window" => {
            let window = written.configs.iter().map(|it| it.catchup_window_nanos).min();
            let is_right = window.is_some_and(|window| lateness > window);
            (!is_right).then(|| format!("it is {lateness} ns late, and the window is {window:?}"))
        }
        "catchup_mode" => {
            let is_all = |it: CatchupMode| it == CatchupMode::All;
            let is_wrong = written
                .configs
                .iter()
                .all(|config| is_all(config.extensions.clone().unwrap_or_default().catchup_mode()));
            let may_be_missed = written.since.is_some_and(|since| line.until < since.latest);
            match (is_wrong, may_be_missed) {
                (true, _) => Some("all are caught up".to_owned()),
                (false, false) => Some("it was evaluated when it was due".to_owned()),
                (false, true) => None,
            }
        }
        _ => Some("nobody knows why".to_owned()),
    }
}

/// Whether a start is recorded as late; `None` if that can't be known.
fn is_called_late(written: &Written, lateness: i64) -> Option<bool> {
    let due = written.line.due_at;
    match written.since {
        _ if lateness > LATE_AFTER => Some(true),
        Some(since) if due < since.earliest => Some(true),
        Some(since) if due < since.latest => None,
        Some(_) | None => Some(false),
    }
}

pub(super) fn first_versions(schedule: &ScheduleSeen) -> impl Iterator<Item = &Written> {
    let scheduled = schedule.lines.iter().filter(|((log, _), _)| *log == Log::Ledger);
    scheduled.filter_map(|(_, versions)| versions.first())
}

/// A start that isn't buffered is decided and started at the line's time.
fn caught_up_wrongly(schedule: &ScheduleSeen, written: &Written) -> Option<Violation> {
    let line = &written.line;
    let may_wait = |policy: Overlap| !matches!(policy, Overlap::Skip | Overlap::AllowAll);
    let may_wait = schedule.policies().into_iter().any(may_wait);
    if line.run_id.is_empty() || may_wait || written.is_unclear {
        return None;
    }
    let lateness = line.decided_at - line.due_at;
    let is_late = line.start_reason() == StartReason::Catchup;
    let window = written.configs.iter().map(|it| it.catchup_window_nanos).max().unwrap_or(0);
    let what = if lateness > window {
        format!("it is {lateness} ns late, and the window is {window}")
    } else if is_late != is_called_late(written, lateness).unwrap_or(is_late) {
        format!("it is {lateness} ns late, and called {:?}", line.verdict())
    } else {
        return None;
    };
    let what = format!("{} was started: {what}", rfc3339(line.nominal_at));
    Some(schedule.violation("nothing starts early, and late is called so", what))
}
