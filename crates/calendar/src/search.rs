//! Converts local times to instants: finds the next time of a pattern in a time zone.

use crate::civil::WallSecond;
use crate::dst::{DstPolicy, OnGap};
use crate::matcher::CalendarMatcher;
use crate::recurrence::CompiledRecurrence;
use crate::repeat::CivilRepeat;
use crate::zone::{OFFSET_MAX, Zone};

/// A set of wall-clock seconds.
#[derive(Clone, Debug)]
pub(crate) enum WallPattern {
    Calendar(CalendarMatcher),
    Repeat(CivilRepeat),
    Recurrence(Box<CompiledRecurrence>),
}

impl WallPattern {
    /// The first second of the set at or after `from`. Nothing after `until` is looked for.
    #[inline]
    fn next(&self, from: i64, until: i64) -> Option<i64> {
        let (from, until) = (WallSecond(from), WallSecond(until));
        let found = match self {
            WallPattern::Calendar(calendar) => calendar.next(from, until),
            WallPattern::Repeat(repeat) => repeat.next(from),
            WallPattern::Recurrence(rule) => rule.next(from, until),
        }?;
        Some(found.0)
    }

    pub(crate) fn contains(&self, wall: i64) -> bool {
        self.next(wall, wall) == Some(wall)
    }

    /// The first instant at or after `from`, and not after `last`, at which the zone's clock shows
    /// a time of the set, by the given policy.
    ///
    /// A zone is a list of segments with a constant offset. No segment has a time of the set between a
    /// local time and the set's next local time, so the search goes directly to the segment that
    /// contains the next one. Only where the clock was put back does it search local times again.
    #[inline]
    pub(crate) fn next_instant(
        &self,
        zone: &Zone,
        policy: DstPolicy,
        from: i64,
        last: i64,
    ) -> Option<i64> {
        let until = last.saturating_add(OFFSET_MAX);
        let mut at = zone.segment_at(from);
        let shifted = self.shifted(zone, policy, at, from);
        let found = self.next_in_segments(zone, policy, &mut at, from, until);
        let found = found.map(|found| {
            if policy.gap == OnGap::Skip || found < zone.segments()[at].end {
                return found;
            }
            // Shifted times of a gap coincide with the beginning of the next segment, so that segment may
            // hold an earlier instant.
            let (wall, end) = zone.wall_range(at + 1, policy);
            let rival = self.next(wall, end - 1).filter(|&rival| rival < end);
            rival.map_or(found, |rival| found.min(rival - zone.segments()[at + 1].offset))
        });
        let earliest = match (shifted, found) {
            (Some(shifted), Some(found)) => Some(shifted.min(found)),
            (shifted, found) => shifted.or(found),
        };
        earliest.filter(|&instant| instant <= last)
    }

    /// Searches segment by segment. `at` is left at the segment of the result.
    #[inline]
    fn next_in_segments(
        &self,
        zone: &Zone,
        policy: DstPolicy,
        at: &mut usize,
        from: i64,
        until: i64,
    ) -> Option<i64> {
        let mut wall = from + zone.segments()[*at].offset;
        let mut ahead = None;
        loop {
            let (start, end) = zone.wall_range(*at, policy);
            let found = match ahead {
                Some(found) if found >= start => Some(found),
                _ => {
                    wall = wall.max(start);
                    self.next(wall, until)
                }
            };
            if let Some(found) = found
                && found < end
            {
                return Some(found - zone.segments()[*at].offset);
            }
            if *at + 1 == zone.segments().len() {
                return None;
            }
            let (next_start, _) = zone.wall_range(*at + 1, policy);
            if next_start < wall {
                // The clock was put back: times that were passed come again.
                *at += 1;
                wall = next_start;
                ahead = None;
                continue;
            }
            ahead = found;
            wall = found?;
            *at = zone.segment_showing(wall, *at + 1, policy);
        }
    }

    /// Under `shift`, the next of the times that the clock jumped over to reach segment `at`.
    fn shifted(&self, zone: &Zone, policy: DstPolicy, at: usize, from: i64) -> Option<i64> {
        if policy.gap != OnGap::Shift || at == 0 {
            return None;
        }
        let before = &zone.segments()[at - 1];
        let (_, gap_end) = zone.wall_range(at - 1, policy);
        let wall = from + before.offset;
        if wall >= gap_end {
            return None;
        }
        let found = self.next(wall, gap_end - 1).filter(|&found| found < gap_end)?;
        Some(found - before.offset)
    }
}
