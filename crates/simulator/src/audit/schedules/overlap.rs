//! Runs of a schedule overlap only as its policy allows.

use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;
use perennial_store::Log;

use super::cadence::rfc3339;
use super::starts::started;
use super::{Others, ScheduleSeen, Schedules, Violation, Written};

const PROMISE: &str = "runs overlap only as the policy allows";

/// A run, with its retries and continuations, and when its schedule decided to start it.
struct Chain<'a> {
    run_id: &'a str,
    decided: &'a Written,
    is_manual: bool,
    may_overlap: bool,
    /// The commit in which its last run closed.
    closed: u64,
}

pub(super) fn check(schedule: &ScheduleSeen, others: Others<'_>) -> Option<Violation> {
    let chains = chains(schedule, others);
    let allows = schedule.policies().contains(&Overlap::AllowAll);
    for chain in &chains {
        if chain.may_overlap && !chain.is_manual && !allows {
            let what = format!("{} may overlap others, and nobody said so", chain.run_id);
            return Some(schedule.violation(PROMISE, what));
        }
        let mut before = chains.iter().filter(|other| other.run_id != chain.run_id);
        if chain.may_overlap {
            continue;
        }
        if let Some(other) = before.find(|other| is_in_the_way(other, chain)) {
            let what = format!("{} was started while {} ran", chain.run_id, other.run_id);
            return Some(schedule.violation(PROMISE, what));
        }
    }
    skips(schedule).or_else(|| order(schedule))
}

fn chains<'a>(schedule: &'a ScheduleSeen, others: Others<'a>) -> Vec<Chain<'a>> {
    let mut chains = Vec::new();
    for ((log, _), versions) in &schedule.lines {
        for decided in versions {
            let run_id = decided.line.run_id.as_str();
            let Some(first) = others.all.get(run_id).filter(|_| !run_id.is_empty()) else {
                continue;
            };
            let of_chain = others.all.values().filter(|it| it.run.first_run_id() == run_id);
            // A reset run continues beside whatever its schedule has started since.
            if of_chain.clone().any(|it| !it.run.head.ancestors.is_empty()) {
                continue;
            }
            let closed = of_chain.map(|it| {
                let seen = others.seen(&it.run.head.run_id);
                seen.and_then(|it| it.closed).unwrap_or(u64::MAX)
            });
            let lineage = started(first)
                .and_then(|it| it.header.as_ref()?.fields.get("perennial-schedule"))
                .map(|it| String::from_utf8_lossy(&it.data).into_owned())
                .unwrap_or_default();
            chains.push(Chain {
                run_id,
                decided,
                is_manual: *log == Log::ManualLedger,
                may_overlap: lineage.contains(r#""overlap_policy":"allow_all""#),
                closed: closed.max().unwrap_or(u64::MAX),
            });
        }
    }
    chains
}

/// Whether the other run was to start before, and hadn't closed when this one was decided.
fn is_in_the_way(other: &Chain<'_>, chain: &Chain<'_>) -> bool {
    let (of_other, of_chain) = (other.decided, chain.decided);
    if of_other.commit != of_chain.commit {
        return of_other.commit < of_chain.commit && !has_closed(other, of_chain);
    }
    // In one step, what may overlap starts beside the one that was chosen; and one may end for the other.
    if other.may_overlap {
        return of_other.line.decided_at < of_chain.line.decided_at && !has_closed(other, of_chain);
    }
    !has_closed(other, of_chain) && !has_closed(chain, of_other)
}

/// Whether a run had closed when something was decided. One commit may hold both, and which was first can't
/// be told by their times: the clock may have been put back for one of them.
fn has_closed(chain: &Chain<'_>, when: &Written) -> bool {
    chain.closed <= when.commit
}

/// Checks that a start that was skipped for overlap had an open run to overlap with.
fn skips(schedule: &ScheduleSeen) -> Option<Violation> {
    let mut written = schedule.lines.values().flatten();
    let is_wrong = |it: &&Written| it.line.reason == "overlap_policy_skip" && !it.was_busy;
    let written = written.find(is_wrong)?;
    let what = format!("{} was skipped, and nothing ran", rfc3339(written.line.nominal_at));
    Some(schedule.violation(PROMISE, what))
}

/// Checks that scheduled starts under one policy leave in the order of their times.
fn order(schedule: &ScheduleSeen) -> Option<Violation> {
    if schedule.policies().len() != 1 {
        return None;
    }
    let started: Vec<_> =
        schedule.ledger(Log::Ledger).filter(|line| !line.run_id.is_empty()).collect();
    let is_wrong = |pair: &&[&perennial_proto::store::Occurrence]| match pair {
        [one, next] => one.decided_at > next.decided_at,
        _ => false,
    };
    let pair = started.windows(2).find(is_wrong)?;
    let times: Vec<_> = pair.iter().map(|line| rfc3339(line.nominal_at)).collect();
    let what = format!("{} were started the other way round", times.join(" and "));
    Some(schedule.violation("starts leave in order", what))
}

/// Checks that a run that is to end receives the request, even if its start arrives late.
pub(super) fn check_endings(schedules: &Schedules, others: Others<'_>) -> Option<Violation> {
    for ending in schedules.endings.values() {
        let (Some(answered), Some(run)) = (ending.answered, others.seen(&ending.first_run_id))
        else {
            continue;
        };
        if run.opened >= answered
            && let Some(schedule) = schedules.seen.get(&ending.schedule)
        {
            let what = format!("what ends {} arrived before it was there", run.run_id);
            return Some(schedule.violation("what is to end ends", what));
        }
    }
    None
}
