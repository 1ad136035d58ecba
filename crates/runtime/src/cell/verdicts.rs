//! The verdicts of a schedule's transition, for metrics.

use std::time::Duration;

use perennial_engine::EntityId;
use perennial_engine::schedule::{Schedule, Transition};
use perennial_proto::store::{Occurrence, Verdict as Stored};
use perennial_telemetry::Verdict;

/// What a transition decided about the times of its schedule. Counted when it is durable.
pub(crate) struct Verdicts {
    pub(crate) schedule: EntityId,
    /// How many times got each verdict.
    pub(crate) counts: Vec<(Verdict, u64)>,
    /// The lag of each start that no overlap policy held back.
    pub(crate) lags: Vec<Duration>,
    /// The schedule was deleted.
    pub(crate) is_deleted: bool,
}

impl Verdicts {
    /// The verdicts of a transition from the state `before`. `None` if there are none.
    pub(super) fn of(before: Option<&Schedule>, transition: &Transition) -> Option<Box<Self>> {
        let open = before.and_then(|before| before.head.open_range.as_ref());
        let (mut counts, mut lags) = (Vec::new(), Vec::new());
        for line in &transition.ledger {
            let occurrence = &line.occurrence;
            let Some(verdict) = verdict_of(occurrence) else { continue };
            let extended = open.filter(|open| !line.is_manual && extends(open, occurrence));
            let known = extended.map_or(0, |open| open.count);
            let times = u64::try_from(occurrence.count - known).unwrap_or(0);
            if times > 0 {
                counts.push((verdict, times));
            }
            let is_start = matches!(verdict, Verdict::Fired | Verdict::Late);
            if is_start && !line.is_manual && occurrence.sequence == 0 {
                let lag = occurrence.decided_at.saturating_sub(occurrence.due_at);
                lags.push(Duration::from_nanos(u64::try_from(lag).unwrap_or(0)));
            }
        }
        let schedule = &transition.schedule;
        let is_deleted = schedule.head.deleted_at != 0;
        if counts.is_empty() && !is_deleted {
            return None;
        }
        Some(Box::new(Self { schedule: schedule.id(), counts, lags, is_deleted }))
    }
}

/// Whether `line` is the line `open` with more times.
fn extends(open: &Occurrence, line: &Occurrence) -> bool {
    open.nominal_at == line.nominal_at && open.verdict == line.verdict && open.reason == line.reason
}

fn verdict_of(occurrence: &Occurrence) -> Option<Verdict> {
    Some(match occurrence.verdict() {
        Stored::Unspecified => return None,
        Stored::Fired => Verdict::Fired,
        Stored::Late => Verdict::Late,
        Stored::Skipped => Verdict::Skipped,
        Stored::Missed => Verdict::Missed,
        Stored::Dropped => Verdict::Dropped,
        Stored::Excluded => Verdict::Excluded,
        Stored::Buffered => Verdict::Buffered,
    })
}
