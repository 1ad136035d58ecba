//! Checks that the ledgers and the runs name each other: each started line has its run, and each run its line.

use std::collections::BTreeSet;

use perennial_proto::store::Verdict;
use perennial_proto::temporal::history::v1::WorkflowExecutionStartedEventAttributes;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_store::Log;

use super::cadence::rfc3339;
use super::{Others, ScheduleSeen, Schedules, Violation, Written};
use crate::audit::histories::Recorded;

const PROMISE: &str = "a time starts one run, and the ledger names it";

pub(super) fn check(schedule: &ScheduleSeen, others: Others<'_>) -> Option<Violation> {
    (named(schedule, others))
        .or_else(|| ids_taken(schedule, others))
        .or_else(|| twice(schedule))
        .or_else(|| limited(schedule))
}

impl ScheduleSeen {
    /// The ledger lines that have ever named a run.
    pub(super) fn naming(&self, run_id: &str) -> BTreeSet<(Log, i64)> {
        let names = self
            .lines
            .iter()
            .filter(|(_, versions)| versions.iter().any(|written| written.line.run_id == run_id));
        names.map(|(position, _)| *position).collect()
    }

    /// Whether a start of that time was refused because another run has its workflow id.
    fn was_refused(&self, position: (Log, i64)) -> bool {
        let versions = self.lines.get(&position);
        versions.is_some_and(|it| it.iter().any(|it| it.line.reason == "workflow_id_taken"))
    }
}

/// Checks that each run a ledger has named exists, with the right ids.
fn named(schedule: &ScheduleSeen, others: Others<'_>) -> Option<Violation> {
    let wrong = |what: String| Some(schedule.violation(PROMISE, what));
    for (position, versions) in &schedule.lines {
        for line in versions.iter().map(|it| &it.line).filter(|it| !it.run_id.is_empty()) {
            let run_id = &line.run_id;
            let shown =
                format!("{:?} for {} names {run_id}", line.verdict(), rfc3339(line.nominal_at));
            if !matches!(line.verdict(), Verdict::Fired | Verdict::Late) {
                return wrong(format!("{shown}, which wasn't to start"));
            }
            if others.may_be_deleted.contains(run_id) {
                continue;
            }
            let Some(run) = others.all.get(run_id) else {
                if schedule.was_refused(*position) {
                    continue;
                }
                return wrong(format!("{shown}, which isn't there"));
            };
            if run.run.head.workflow_id != line.workflow_id {
                return wrong(format!("{shown} and another workflow id"));
            }
            let (by, at) = scheduled_by(run).unwrap_or_default();
            if by != schedule.schedule_id || at != rfc3339(line.nominal_at) {
                return wrong(format!("{shown}, which says that it is of {by} for {at}"));
            }
        }
    }
    None
}

/// Checks that another run had the workflow id of each refused start.
fn ids_taken(schedule: &ScheduleSeen, others: Others<'_>) -> Option<Violation> {
    for versions in schedule.lines.values() {
        for pair in versions.windows(2) {
            let [before, after] = pair else { continue };
            if after.line.reason != "workflow_id_taken" || before.line.run_id.is_empty() {
                continue;
            }
            let mut runs = others.runs.values();
            let id = &before.line.workflow_id;
            let is_taken = runs.any(|run| {
                run.namespace == schedule.namespace
                    && run.workflow_id == *id
                    && run.run_id != before.line.run_id
            });
            if !is_taken {
                let what = format!("{id} is said to be taken, and isn't");
                return Some(schedule.violation(PROMISE, what));
            }
        }
    }
    None
}

/// Checks that a time that a backfill started early isn't started again.
fn twice(schedule: &ScheduleSeen) -> Option<Violation> {
    for ((log, at), versions) in &schedule.lines {
        let Some(first) = versions.first().filter(|_| *log == Log::Ledger) else { continue };
        if !versions.iter().any(|it| !it.line.run_id.is_empty()) {
            continue;
        }
        let is_ahead = |(position, versions): (&(Log, i64), &Vec<Written>)| {
            position.0 == Log::ManualLedger
                && !schedule.was_refused(*position)
                && versions.iter().any(|it| {
                    it.line.nominal_at == *at
                        && it.line.backfill != 0
                        && !it.line.run_id.is_empty()
                        && it.commit < first.commit
                })
        };
        if schedule.lines.iter().any(is_ahead) {
            let what = format!("{} was backfilled before it came, and fired too", rfc3339(*at));
            return Some(schedule.violation("a time that was backfilled ahead doesn't fire", what));
        }
    }
    None
}

/// Checks that limited actions are limited, if nobody changed the limit.
fn limited(schedule: &ScheduleSeen) -> Option<Violation> {
    use perennial_proto::perennial::schedule_event::Event;
    let is_update = |event: &Option<Event>| matches!(event, Some(Event::Updated(_)));
    if !schedule.head.limited_actions || schedule.events.values().any(|it| is_update(&it.event)) {
        return None;
    }
    let is_started = |verdict| matches!(verdict, Verdict::Fired | Verdict::Late);
    let started = schedule.ledger(Log::Ledger).filter(|line| is_started(line.verdict())).count();
    let left = schedule.head.remaining_actions;
    // The simulator's clients never give more than six.
    (left < 0 || started as i64 + left > 6).then(|| {
        let what = format!("{started} were started, and {left} are left");
        schedule.violation("limited actions are limited", what)
    })
}

/// Checks that each run of a schedule is named by one line of that schedule's ledgers, and by one event of its audit
/// stream.
pub(super) fn check_origins(schedules: &Schedules, others: Others<'_>) -> Option<Violation> {
    for (run_id, run) in others.all {
        if scheduled_by(run).is_none() || run.run.first_run_id() != run_id {
            continue;
        }
        let wrong = |what: String| Some(run.violation(PROMISE, what));
        let key = run.run.head.schedule.as_ref().map_or(0, |it| it.key);
        let Some(schedule) = schedules.seen.get(&perennial_engine::EntityKey(key)) else {
            return wrong(format!("it is of the schedule {key}, which isn't there"));
        };
        let naming = schedule.naming(run_id);
        if naming.len() != 1 {
            return wrong(format!("{} lines of the ledgers name it: {naming:?}", naming.len()));
        }
        if naming.iter().any(|position| schedule.was_refused(*position)) {
            return wrong("the ledger says that another run has its id".to_owned());
        }
        let times = schedule.times_triggered(run_id);
        if times != 1 {
            return wrong(format!("the audit stream says {times} times that it was started"));
        }
    }
    None
}

/// The schedule and the nominal time that a run names as its origin.
fn scheduled_by(run: &Recorded) -> Option<(String, String)> {
    let started = started(run)?;
    let fields = &started.search_attributes.as_ref()?.indexed_fields;
    let text = |name: &str| {
        let data = String::from_utf8(fields.get(name)?.data.clone()).ok()?;
        Some(data.trim_matches('"').to_owned())
    };
    Some((text("TemporalScheduledById")?, text("TemporalScheduledStartTime")?))
}

pub(super) fn started(run: &Recorded) -> Option<&WorkflowExecutionStartedEventAttributes> {
    match run.events.first()?.attributes.as_ref()? {
        Attributes::WorkflowExecutionStartedEventAttributes(started) => Some(started),
        _ => None,
    }
}
