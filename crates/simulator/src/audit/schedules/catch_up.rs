//! Checks which missed times are caught up.

use std::collections::{BTreeMap, BTreeSet};

use perennial_proto::perennial::CatchupMode;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use super::cadence::rfc3339;
use super::lateness::first_versions;
use super::outages::Outages;
use super::{ScheduleSeen, Violation, Written};

const PROMISE: &str = "missed times are caught up as the mode says";

/// Checks schedules that always had the same mode, and whose starts are never buffered: those are decided when they
/// are started.
pub(super) fn check(schedule: &ScheduleSeen, outages: &Outages) -> Option<Violation> {
    let mode = only_mode(schedule)?;
    let may_wait = |policy: &Overlap| !matches!(policy, Overlap::Skip | Overlap::AllowAll);
    if schedule.policies().iter().any(may_wait) {
        return None;
    }
    let wrong = |at: i64, what: &str| {
        let what = format!("{} was missed, and started: {what}", rfc3339(at));
        Some(schedule.violation(PROMISE, what))
    };
    let mut of_server: BTreeMap<u64, i64> = BTreeMap::new();
    for (written, server, up_to) in first_versions(schedule).filter_map(surely_missed) {
        let at = written.line.nominal_at;
        match mode {
            CatchupMode::All => {}
            CatchupMode::None => return wrong(at, "nothing is caught up"),
            CatchupMode::One => {
                if let Some(other) = of_server.insert(server, at) {
                    return wrong(at, &format!("{} was started too", rfc3339(other)));
                }
            }
            // A time that an earlier outage left over belongs to that outage.
            CatchupMode::Latest if outages.began_between(written.line.due_at, up_to) => {}
            CatchupMode::Latest => {
                let expected = schedule.expected(up_to);
                let mut later = expected.range(at + 1..).filter(|(_, it)| it.due_by < up_to);
                if let Some((later, _)) = later.next() {
                    return wrong(at, &format!("{} was missed later", rfc3339(*later)));
                }
            }
        }
    }
    None
}

/// A start for a time that was certainly missed, with the server that decided it and the end of the outage.
fn surely_missed(written: &Written) -> Option<(&Written, u64, i64)> {
    let since = written.since?;
    let is_its = !written.line.run_id.is_empty() && written.line.due_at < since.earliest;
    is_its.then_some((written, since.server, since.earliest))
}

fn only_mode(schedule: &ScheduleSeen) -> Option<CatchupMode> {
    let configs = schedule.lines.values().flatten().flat_map(|written| &written.configs);
    let mode = |config: &perennial_proto::store::ScheduleConfig| {
        config.extensions.clone().unwrap_or_default().catchup_mode
    };
    let modes: BTreeSet<i32> = configs.map(|config| mode(config)).collect();
    let only = modes.first().copied().filter(|_| modes.len() == 1)?;
    CatchupMode::try_from(only).ok()
}
