//! The parts of a compiled spec, with their times.

use jiff::Timestamp;

use crate::dst::DstPolicy;
use crate::matcher::CalendarMatcher;
use crate::search::WallPattern;
use crate::zone::Zone;

/// One of a definition's parts, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartRef {
    /// `definition.calendars[n]`
    Calendar(usize),
    /// `definition.intervals[n]`
    Interval(usize),
    /// `definition.repeats[n]`
    Repeat(usize),
    /// `definition.recurrences[n]`
    Recurrence(usize),
}

/// An exclusion, by its place in the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExclusionRef {
    /// `definition.exclusions[n]`
    Calendar(usize),
    /// `definition.excluded_calendars[n]`
    Named(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) source: PartRef,
    pub(crate) times: Times,
    /// Its own bounds, both inclusive.
    pub(crate) first: i64,
    pub(crate) last: i64,
}

#[derive(Clone, Debug)]
pub(crate) enum Times {
    /// Unix seconds `t` with `t ≡ phase` modulo `every`.
    Interval { every: i64, phase: i64 },
    /// Local times.
    Wall { pattern: WallPattern, policy: DstPolicy },
}

#[derive(Clone, Debug)]
pub(crate) struct Exclusion {
    pub(crate) source: ExclusionRef,
    pub(crate) calendar: CalendarMatcher,
    /// The canonical text of an entry of a named calendar, which no definition has.
    pub(crate) named_text: String,
}

impl Part {
    /// The cost of testing it, in units of a search's work.
    pub(crate) fn cost(&self) -> usize {
        match &self.times {
            Times::Interval { .. } => 1,
            Times::Wall { pattern: WallPattern::Recurrence(_), .. } => 64,
            Times::Wall { .. } => 8,
        }
    }

    /// A part without bounds of its own.
    pub(crate) fn new(source: PartRef, times: Times) -> Self {
        let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        Part { source, times, first, last }
    }

    /// The first time at or after `from`, and not after `last`.
    #[inline]
    pub(crate) fn next(&self, zone: &Zone, from: i64, last: i64) -> Option<i64> {
        self.next_by(zone, from, last, None)
    }

    /// The first time under another DST policy, if one is given.
    #[inline]
    pub(crate) fn next_by(
        &self,
        zone: &Zone,
        from: i64,
        last: i64,
        other: Option<DstPolicy>,
    ) -> Option<i64> {
        let (from, last) = (from.max(self.first), last.min(self.last));
        if from > last {
            return None;
        }
        match &self.times {
            Times::Interval { every, phase } => {
                let behind = (from - phase).rem_euclid(*every);
                let next = if behind == 0 { from } else { from.checked_add(every - behind)? };
                (next <= last).then_some(next)
            }
            Times::Wall { pattern, policy } => {
                pattern.next_instant(zone, other.unwrap_or(*policy), from, last)
            }
        }
    }
}
