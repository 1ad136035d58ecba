//! Warns about the effects of the next clock changes.

use std::sync::Arc;

use jiff::tz::TimeZoneDatabase;

use super::{Budget, Window};
use crate::civil::WallSecond;
use crate::definition::{Definition, ZoneSource};
use crate::dst::{OnGap, OnRepeat};
use crate::explain::fields::Fields;
use crate::explain::recurrence;
use crate::explain::warning::Warning;
use crate::part::{Part, PartRef, Times};
use crate::search::WallPattern;
use crate::spec::Spec;
use crate::zone::{Segment, Zone, Zones};

/// How many clock changes are examined: no zone has more than four a year.
const CHANGES_MAX: usize = 40;

/// Times examined within one change before it counts as harmless.
const TIMES_MAX: u32 = 64;

/// At most one warning of each kind, of the earliest change that has it.
pub(super) fn of(spec: &Spec, window: Window, budget: &mut Budget) -> Vec<Warning> {
    // On a clock that never changes, an instant is what the clock shows.
    let Ok(even_clock) = Zones::new(TimeZoneDatabase::none()).resolve(&ZoneSource::Default) else {
        return Vec::new();
    };
    let (mut skipped, mut repeated, mut paused) = (None, None, None);
    let changes = spec.zone().segments().windows(2).filter(|pair| window.contains(pair[1].start));
    for change in changes.take(CHANGES_MAX) {
        for part in &spec.parts {
            let Times::Wall { pattern, policy } = &part.times else { continue };
            let change = (change[0], change[1]);
            let change = ClockChange { spec, part, pattern, even_clock: &even_clock, change };
            if change.jumps() {
                if policy.gap == OnGap::Skip && skipped.is_none() {
                    skipped = change.skipped(budget);
                }
            } else if policy.repeat == OnRepeat::Both {
                repeated = repeated.or_else(|| change.fires_twice(budget));
            } else {
                paused = paused.or_else(|| change.pauses(budget));
            }
        }
    }
    [repeated, skipped, paused].into_iter().flatten().collect()
}

/// One part at one clock change.
struct ClockChange<'s> {
    spec: &'s Spec,
    part: &'s Part,
    pattern: &'s WallPattern,
    even_clock: &'s Arc<Zone>,
    /// The stretches before and after.
    change: (Segment, Segment),
}

impl ClockChange<'_> {
    fn jumps(&self) -> bool {
        self.change.1.offset > self.change.0.offset
    }

    /// By how much, in seconds.
    fn length(&self) -> i64 {
        (self.change.1.offset - self.change.0.offset).abs()
    }

    fn skipped(&self, budget: &mut Budget) -> Option<Warning> {
        let (from, to) = (self.change.0.wall_end(), self.change.1.wall_start());
        let lost = self.first_odd_time(from, to, budget)?;
        Some(Warning::Skipped {
            local: WallSecond(lost).civil(),
            jumps_from: WallSecond(from).civil(),
            jumps_to: WallSecond(to).civil(),
            zone: self.zone_name(),
        })
    }

    fn fires_twice(&self, budget: &mut Budget) -> Option<Warning> {
        let (from, to) = (self.change.1.wall_start(), self.change.0.wall_end());
        let twice = self.first_odd_time(from, to, budget)?;
        Some(Warning::FiresTwice { local: WallSecond(twice).civil(), zone: self.zone_name() })
    }

    /// Warns if times of a part that fires all day long are missing in the repeated hour.
    fn pauses(&self, budget: &mut Budget) -> Option<Warning> {
        let (from, to) = (self.change.1.wall_start(), self.change.0.wall_end());
        budget.step()?;
        let time = self.wall_time(from, to - 1)?;
        (comes_all_day(self.spec.definition(), self.part.source) && self.is_wanted(time)).then(
            || Warning::Pauses {
                local: WallSecond(from).civil(),
                until: WallSecond(to).civil(),
                zone: self.zone_name(),
            },
        )
    }

    /// The first time the clock shows from `from` up to `to` whose loss or repetition is felt.
    fn first_odd_time(&self, from: i64, to: i64, budget: &mut Budget) -> Option<i64> {
        let all_day = comes_all_day(self.spec.definition(), self.part.source);
        let mut from = from;
        for _ in 0..TIMES_MAX {
            budget.step()?;
            let time = self.wall_time(from, to - 1)?;
            // Every five minutes stays every five minutes when the clock changes: at the instant at
            // which this time is missing or comes again, another is due anyway.
            let in_rhythm = all_day && self.pattern.contains(time + self.length());
            if !in_rhythm && self.is_wanted(time) {
                return Some(time);
            }
            from = time + 1;
        }
        None
    }

    /// The part's first time on the wall clock, both ends inclusive.
    fn wall_time(&self, from: i64, to: i64) -> Option<i64> {
        self.part.next_by(self.even_clock, from, to, None)
    }

    /// Whether a time of the part would be one of the spec.
    fn is_wanted(&self, wall: i64) -> bool {
        let (first, last) = self.spec.bounds();
        let earlier = wall - self.change.0.offset;
        let later = wall - self.change.1.offset;
        self.spec.exclusion_at(WallSecond(wall)).is_none()
            && earlier.min(later) >= first.max(self.part.first)
            && earlier.max(later) <= last.min(self.part.last)
    }

    fn zone_name(&self) -> String {
        match self.spec.zone().name() {
            "" => "its time zone".to_owned(),
            name => name.to_owned(),
        }
    }
}

/// Whether the part has times in every hour of the day.
fn comes_all_day(definition: &Definition, part: PartRef) -> bool {
    match part {
        PartRef::Calendar(n) => Fields::of(&definition.calendars[n]).hours.is_full(),
        PartRef::Recurrence(n) => recurrence::comes_all_day(&definition.recurrences[n]),
        PartRef::Interval(_) | PartRef::Repeat(_) => false,
    }
}
