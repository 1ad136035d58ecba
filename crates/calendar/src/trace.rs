//! All times that a spec's parts match, with the reason for those that are left out.

use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::civil::WallSecond;
use crate::dst::{DstPolicy, OnGap, OnRepeat};
use crate::part::{ExclusionRef, Part, PartRef, Times};
use crate::spec::{Occurrence, Spec, floor_second, timestamp};

/// The most permissive policy, to find the times that the spec's own policy leaves out.
const ALL: DstPolicy = DstPolicy { gap: OnGap::Shift, repeat: OnRepeat::Both };

/// A time that fires, or a time that is left out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traced {
    /// A time of the spec, the same that [`Spec::between`] gives.
    Fires(Occurrence),
    /// A time that a part matches but that the spec leaves out.
    LeftOut(LeftOut),
}

/// A time that a part of a spec matches but that the spec leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The instant; for a time in a gap, the instant after moving it forward by the length of the gap.
    pub nominal: Timestamp,
    /// The local time, which doesn't occur if it is in a gap.
    pub civil: DateTime,
    /// The part that matches the time.
    pub part: PartRef,
    /// Why it is left out.
    pub reason: Reason,
}

/// Why a time was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An exclusion matches it.
    Excluded(ExclusionRef),
    /// The clock jumps over it, and the policy is to skip such times.
    Gap,
    /// The clock shows it twice; this is the instant the policy does not take.
    Repeated(OnRepeat),
}

impl Spec {
    /// Every time after `from` (exclusive) up to `to` (inclusive), and every time left out. The
    /// ones that fire are exactly those of [`between`](Self::between).
    pub fn trace(&self, from: Timestamp, to: Timestamp) -> Trace<'_> {
        let (first, last) = self.bounds();
        let from = floor_second(from).saturating_add(1).max(first);
        Trace { spec: self, from, last: floor_second(to).min(last), also: None }
    }

    /// Why a time was left out, in words.
    pub fn why(&self, left_out: &LeftOut) -> String {
        let zone = self.zone().name();
        let civil = format!("{} on {}", left_out.civil.time(), left_out.civil.date());
        match left_out.reason {
            Reason::Excluded(ExclusionRef::Calendar(n)) => match &self.definition().exclusions[n] {
                exclusion if exclusion.comment.is_empty() => {
                    format!("exclusion {} matches it: {exclusion}", n + 1)
                }
                exclusion => format!("exclusion {} matches it: {}", n + 1, exclusion.comment),
            },
            Reason::Excluded(ExclusionRef::Named(n)) => {
                let name = &self.definition().excluded_calendars[n];
                let entry = self.exclusion_at(WallSecond::from(left_out.civil));
                let entry = entry.map_or("", |exclusion| exclusion.named_text.as_str());
                let entry = entry.split_once(" # ").map_or(entry, |(_, comment)| comment);
                format!("the calendar {name:?} matches it: {entry}")
            }
            Reason::Gap => format!("{civil} does not exist: the clock of {zone} jumps over it"),
            Reason::Repeated(kept) => {
                let which = if kept == OnRepeat::First { "first" } else { "last" };
                format!("{civil} happens twice in {zone}; only the {which} counts")
            }
        }
    }
}

/// Iterator over all times, fired and left out. Made by [`Spec::trace`].
#[derive(Clone, Debug)]
pub struct Trace<'s> {
    spec: &'s Spec,
    from: i64,
    last: i64,
    /// A time that fires at the same instant as a shifted time in a gap; it is returned after that one.
    also: Option<Traced>,
}

impl Iterator for Trace<'_> {
    type Item = Traced;

    fn next(&mut self) -> Option<Traced> {
        if let Some(also) = self.also.take() {
            return Some(also);
        }
        loop {
            let zone = self.spec.zone();
            let parts = self.spec.parts.iter();
            let candidates =
                parts.filter_map(|part| part.next_by(zone, self.from, self.last, Some(ALL)));
            let instant = candidates.min()?;
            self.from = instant + 1;
            let mut fires = None;
            let mut left_out = None;
            for part in &self.spec.parts {
                let judged = self.spec.judge(part, instant);
                fires = fires.or(judged.fires.then_some(part.source));
                left_out = left_out.or(judged.left_out);
            }
            let Some(part) = fires else {
                match left_out {
                    Some(left_out) => return Some(Traced::LeftOut(left_out)),
                    // The search found it, but no part accepts it: omit it rather than report it wrongly.
                    None => continue,
                }
            };
            let wall = self.spec.wall(instant);
            let traced = match self.spec.exclusion_at(wall) {
                None => Traced::Fires(self.spec.occurrence(instant, part)),
                Some(exclusion) => Traced::LeftOut(LeftOut {
                    nominal: timestamp(instant),
                    civil: wall.civil(),
                    part,
                    reason: Reason::Excluded(exclusion.source),
                }),
            };
            // A skipped 02:30 comes before the 03:30 that has the same instant.
            return match left_out.filter(|found| found.reason == Reason::Gap) {
                Some(jumped) => {
                    self.also = Some(traced);
                    Some(Traced::LeftOut(jumped))
                }
                None => Some(traced),
            };
        }
    }
}

/// Whether one part fires at an instant.
#[derive(Default)]
struct Judgement {
    fires: bool,
    left_out: Option<LeftOut>,
}

impl Spec {
    fn wall(&self, instant: i64) -> WallSecond {
        let zone = self.zone();
        WallSecond(instant + zone.segments()[zone.segment_at(instant)].offset)
    }

    /// Whether a part fires at an instant, exclusions aside.
    fn judge(&self, part: &Part, instant: i64) -> Judgement {
        if instant < part.first || instant > part.last {
            return Judgement::default();
        }
        let fires = part.next(self.zone(), instant, instant).is_some();
        let (pattern, policy) = match &part.times {
            Times::Interval { .. } => return Judgement { fires, left_out: None },
            Times::Wall { pattern, policy } => (pattern, *policy),
        };
        let segments = self.zone().segments();
        let at = self.zone().segment_at(instant);
        let before = at.checked_sub(1).map(|before| segments[before]);

        let wall = instant + segments[at].offset;
        // The local time in the gap, if any, that would be moved to this instant.
        let jumped = before
            .map(|before| (before.wall_end(), instant + before.offset))
            .filter(|&(gap, jumped)| (gap..segments[at].wall_start()).contains(&jumped))
            .map(|(_, jumped)| jumped)
            .filter(|&jumped| pattern.contains(jumped));

        let left_out = match jumped {
            Some(jumped) if policy.gap == OnGap::Skip => Some((jumped, Reason::Gap)),
            _ if !fires && pattern.contains(wall) => Some((wall, Reason::Repeated(policy.repeat))),
            _ => None,
        };
        let left_out = left_out.map(|(wall, reason)| LeftOut {
            nominal: timestamp(instant),
            civil: WallSecond(wall).civil(),
            part: part.source,
            reason,
        });
        Judgement { fires, left_out }
    }
}
