//! Speeds up searches where exclusions remove many times in a row: steps by days and minutes instead of
//! single times.

use std::collections::BTreeSet;

use crate::civil::{Day, SECONDS_PER_DAY, WallSecond};
use crate::dst::OnGap;
use crate::matcher::ALL_SIXTY;
use crate::part::{Exclusion, Part, Times};
use crate::search::WallPattern;
use crate::zone::{OFFSET_MAX, Zone};

/// Maximum number of parts and exclusions together: the class of a day has a bit for each.
const MATCHERS_MAX: usize = 127;

/// State of one search. Days with the same active calendars and the same offset from UTC form a class: the
/// same seconds remain after exclusions. Most specs have a handful of classes.
pub(crate) struct Sieve<'s> {
    zone: &'s Zone,
    parts: &'s [Part],
    exclusions: &'s [Exclusion],
    /// Classes of days on which everything is excluded.
    empty: BTreeSet<Class>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    /// Parts in the low bits, exclusions above them.
    active: u128,
    offset: i64,
}

impl<'s> Sieve<'s> {
    /// `None` for a spec that has too many parts and exclusions.
    pub(crate) fn new(
        zone: &'s Zone,
        parts: &'s [Part],
        exclusions: &'s [Exclusion],
    ) -> Option<Self> {
        let fits = parts.len() + exclusions.len() <= MATCHERS_MAX;
        fits.then(|| Sieve { zone, parts, exclusions, empty: BTreeSet::new() })
    }

    /// An instant at or after `from` before which the spec has no time; `from` itself if unknown. Adds to
    /// `work` for every matcher used, and stops at `work_max`.
    pub(crate) fn skip(&mut self, mut from: i64, work: &mut usize, work_max: usize) -> i64 {
        while *work < work_max {
            let segment = &self.zone.segments()[self.zone.segment_at(from)];
            // Shifted times of a gap differ from the local time.
            if self.shifts() && from - segment.start < 2 * OFFSET_MAX {
                break;
            }
            let (day, second_of_day) = WallSecond(from + segment.offset).split();
            *work += self.parts.len() + self.exclusions.len();
            let class = Class { active: self.active_on(day), offset: segment.offset };
            // No part is active on this day: the parts find their next day faster.
            if class.active & ((1 << self.parts.len()) - 1) == 0 {
                break;
            }
            if !self.empty.contains(&class) {
                if let Some(second) = self.first_left(class, second_of_day, work) {
                    from = (WallSecond::new(day, second).0 - segment.offset).min(segment.end);
                    break;
                }
                if self.first_left(class, 0, work).is_none() {
                    self.empty.insert(class);
                }
            }
            from = (WallSecond::new(Day(day.0 + 1), 0).0 - segment.offset).min(segment.end);
        }
        from
    }

    fn shifts(&self) -> bool {
        self.parts.iter().any(|part| match &part.times {
            Times::Interval { .. } => false,
            Times::Wall { policy, .. } => policy.gap == OnGap::Shift,
        })
    }

    fn active_on(&self, day: Day) -> u128 {
        let date = day.date();
        let parts = self.parts.iter().map(|part| match &part.times {
            Times::Wall { pattern: WallPattern::Calendar(calendar), .. } => {
                calendar.matches_day(day, date)
            }
            Times::Wall { .. } | Times::Interval { .. } => true,
        });
        let exclusions = self.exclusions.iter().map(|x| x.calendar.matches_day(day, date));
        parts.chain(exclusions).enumerate().fold(0, |set, (n, on)| set | u128::from(on) << n)
    }

    /// The first second of such a day, from the given one on, that a part may have and no exclusion
    /// takes.
    fn first_left(&self, class: Class, from: u32, work: &mut usize) -> Option<u32> {
        let is_active = |n: usize| class.active >> n & 1 != 0;
        let parts: Vec<_> = (0..self.parts.len()).filter(|n| is_active(*n)).collect();
        let exclusions: Vec<_> = (0..self.exclusions.len())
            .filter(|n| is_active(self.parts.len() + n))
            .map(|n| &self.exclusions[n].calendar)
            .collect();
        for minute in from / 60..1440 {
            *work += 1 + parts.len();
            let seconds = |n: &usize| seconds_of(&self.parts[*n], minute, class.offset);
            let mut left = parts.iter().fold(0, |set, part| set | seconds(part));
            if minute == from / 60 {
                left &= !0 << (from % 60);
            }
            for exclusion in &exclusions {
                if left == 0 {
                    break;
                }
                *work += 1;
                left &= !exclusion.seconds_of(minute);
            }
            if left != 0 {
                return Some(minute * 60 + left.trailing_zeros());
            }
        }
        None
    }
}

/// The seconds of that minute of the day that the part has on some of its days: never too few.
fn seconds_of(part: &Part, minute: u32, offset: i64) -> u64 {
    match &part.times {
        Times::Wall { pattern: WallPattern::Calendar(calendar), .. } => calendar.seconds_of(minute),
        Times::Wall { pattern: WallPattern::Repeat(repeat), .. } => {
            let second = repeat.second_of_day();
            if second / 60 == minute { 1 << (second % 60) } else { 0 }
        }
        Times::Wall { pattern: WallPattern::Recurrence(_), .. } => ALL_SIXTY,
        Times::Interval { every, phase } => {
            // From day to day an interval moves by multiples of what it has in common with a day.
            let every = greatest_common_divisor(*every, SECONDS_PER_DAY);
            let first = (phase + offset - i64::from(minute) * 60).rem_euclid(every);
            (first..60).step_by(every as usize).fold(0, |set, second| set | 1 << second)
        }
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
