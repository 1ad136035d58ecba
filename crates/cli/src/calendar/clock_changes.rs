//! Effects of the next clock changes (daylight saving) on a spec.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp, Zoned};
use perennial_calendar::{OnRepeat, PartRef, Period, Reason, Spec, Traced};
use serde::{Serialize, Serializer};

/// How far ahead to search: a year covers every seasonal clock change.
const AHEAD: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Bound on clock changes examined. Some zones have had four in a year, none more.
const CHANGES_MAX: usize = 8;

/// Affected times listed for each clock change.
const TIMES_MAX: usize = 100;

/// An effect of a clock change on a spec.
#[derive(Debug, Serialize)]
pub(super) struct Anomaly {
    /// Local time just before and after the change.
    #[serde(serialize_with = "as_text")]
    pub(super) from: DateTime,
    #[serde(serialize_with = "as_text")]
    pub(super) to: DateTime,
    pub(super) effect: Effect,
    /// Number of local times affected.
    pub(super) count: usize,
    /// The first affected times.
    #[serde(serialize_with = "as_texts")]
    pub(super) times: Vec<DateTime>,
}

/// The policy for local times that don't occur, or occur twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Effect {
    Skipped,
    /// Fires later, by the length of the gap.
    Shifted,
    FiresTwice,
    FiresFirst,
    FiresLast,
}

/// Effects of the clock changes within a year after `from`. `skipping` is the same spec with a policy that
/// skips gaps: times that fire only without that policy were shifted.
pub(super) fn anomalies(spec: &Spec, skipping: &Spec, from: Timestamp) -> Vec<Anomaly> {
    let rules = spec.zone().at(from).time_zone().clone();
    let end = from.saturating_add(AHEAD).unwrap_or(Timestamp::MAX);
    let mut found = Vec::new();
    for transition in rules.following(from).take(CHANGES_MAX) {
        let at = transition.timestamp();
        if at > end {
            break;
        }
        let before = rules.to_offset(at.saturating_sub(SignedDuration::from_secs(1)).unwrap_or(at));
        let after = transition.offset();
        let change = Change { at, from: before.to_datetime(at), to: after.to_datetime(at) };
        match after.seconds() - before.seconds() {
            0 => {}
            gap @ 1.. => change.put_forward(spec, skipping, gap, &mut found),
            back => change.put_back(spec, -back, &mut found),
        }
    }
    found
}

struct Change {
    at: Timestamp,
    from: DateTime,
    to: DateTime,
}

impl Change {
    fn put_forward(&self, spec: &Spec, skipping: &Spec, gap: i32, found: &mut Vec<Anomaly>) {
        let (mut skipped, mut shifted) = (Vec::new(), Vec::new());
        for traced in spec.trace(just_before(self.at, 0), just_before(self.at, -gap)) {
            match traced {
                Traced::LeftOut(time) if time.reason == Reason::Gap => skipped.push(time.civil),
                Traced::LeftOut(_) => {}
                Traced::Fires(time) => {
                    let kept = skipping.next(just_before(time.nominal, 0));
                    if kept
                        .is_none_or(|kept| (kept.nominal, kept.part) != (time.nominal, time.part))
                    {
                        let shown = spec.zone().at(time.nominal).datetime();
                        shifted.extend(shown.checked_sub(SignedDuration::from_secs(gap.into())));
                    }
                }
            }
        }
        self.report(Effect::Skipped, skipped, found);
        self.report(Effect::Shifted, shifted, found);
    }

    fn put_back(&self, spec: &Spec, length: i32, found: &mut Vec<Anomaly>) {
        let (mut once, mut again) = (Vec::new(), Vec::new());
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for traced in spec.trace(just_before(self.at, length), just_before(self.at, -length)) {
            match traced {
                Traced::LeftOut(time) => match time.reason {
                    Reason::Repeated(OnRepeat::First) => first.push(time.civil),
                    Reason::Repeated(OnRepeat::Last) => last.push(time.civil),
                    Reason::Repeated(OnRepeat::Both) | Reason::Gap | Reason::Excluded(_) => {}
                },
                Traced::Fires(time) if keeps_a_clock(time.part, spec) => {
                    let shown: Zoned = spec.zone().at(time.nominal);
                    if time.nominal < self.at { &mut once } else { &mut again }
                        .push(shown.datetime());
                }
                Traced::Fires(_) => {}
            }
        }
        again.retain(|time| once.binary_search(time).is_ok());
        self.report(Effect::FiresTwice, again, found);
        self.report(Effect::FiresFirst, first, found);
        self.report(Effect::FiresLast, last, found);
    }

    fn report(&self, effect: Effect, mut times: Vec<DateTime>, found: &mut Vec<Anomaly>) {
        times.dedup();
        if !times.is_empty() {
            let count = times.len();
            times.truncate(TIMES_MAX);
            found.push(Anomaly { from: self.from, to: self.to, effect, count, times });
        }
    }
}

/// The instant this many seconds earlier, minus one: windows exclude their start.
fn just_before(instant: Timestamp, seconds: i32) -> Timestamp {
    let earlier = SignedDuration::from_secs(i64::from(seconds) + 1);
    instant.saturating_sub(earlier).unwrap_or(instant)
}

/// Whether the part fires by local time, as opposed to elapsed seconds.
fn keeps_a_clock(part: PartRef, spec: &Spec) -> bool {
    match part {
        PartRef::Calendar(_) | PartRef::Recurrence(_) => true,
        PartRef::Interval(_) => false,
        PartRef::Repeat(n) => !matches!(spec.definition().repeats[n].every, Period::Seconds(_)),
    }
}

fn as_text<S: Serializer>(time: &DateTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

fn as_texts<S: Serializer>(times: &[DateTime], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(times.iter().map(DateTime::to_string))
}
