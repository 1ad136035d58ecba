//! Phrases the times of a day.

use super::fields::{Fields, Progression, ValueSet};
use super::wording::{clock, every, join, long_progression, ordinal, runs};
use crate::civil;

const SECONDS_PER_DAY: u32 = civil::SECONDS_PER_DAY as u32;

/// Evenly spaced times are listed only if they are no more than these.
const EVEN_TIMES_LISTED_MAX: u32 = 3;

/// Other times are listed if they are no more than these.
const TIMES_LISTED_MAX: u32 = 8;

/// The hours, minutes and seconds that make up times of the day: every hour with every minute with
/// every second. None of the three is empty.
#[derive(Clone, Copy)]
pub(super) struct TimesOfDay {
    pub(super) hours: ValueSet,
    pub(super) minutes: ValueSet,
    pub(super) seconds: ValueSet,
}

/// The words for them: `at 09:00`, `every 15 minutes from 09:00 through 17:45`.
pub(super) struct TimePhrase {
    pub(super) words: String,
    /// Whether the phrase needs the words "every day".
    pub(super) needs_days: bool,
}

impl TimesOfDay {
    pub(super) fn of(fields: &Fields) -> Self {
        TimesOfDay { hours: fields.hours, minutes: fields.minutes, seconds: fields.seconds }
    }

    /// Every branch names the whole set of times and nothing but it, so different sets of times have
    /// different words.
    pub(super) fn phrase(self) -> TimePhrase {
        let count = self.hours.len() * self.minutes.len() * self.seconds.len();
        let even = self.progression();
        if count <= EVEN_TIMES_LISTED_MAX {
            return self.listed();
        }
        if let Some(even) = even
            && even.first == 0
            && even.last + even.step == SECONDS_PER_DAY
        {
            return TimePhrase { words: every(even.step.into()), needs_days: false };
        }
        if self.hours.is_full() {
            return TimePhrase { words: self.by_fields(), needs_days: false };
        }
        if let Some(even) = even {
            let (first, last) = (clock(even.first), clock(even.last));
            let words = format!("{} from {first} through {last}", every(even.step.into()));
            return TimePhrase { words, needs_days: true };
        }
        if count <= TIMES_LISTED_MAX {
            return self.listed();
        }
        TimePhrase { words: self.by_fields(), needs_days: true }
    }

    /// The progression of the times, if they are evenly spaced. Computed without enumerating them.
    fn progression(self) -> Option<Progression> {
        let seconds = Spacing::of(self.seconds)?;
        let minutes = seconds.within(Spacing::of(self.minutes)?, 60)?;
        let Spacing { first, last, step } = minutes.within(Spacing::of(self.hours)?, 3600)?;
        Some(Progression { first, last, step: step? })
    }

    /// In order, as seconds of the day.
    fn times(self) -> impl Iterator<Item = u32> {
        self.hours.values().flat_map(move |hour| {
            self.minutes.values().flat_map(move |minute| {
                let start = u32::from(hour) * 3600 + u32::from(minute) * 60;
                self.seconds.values().map(move |second| start + u32::from(second))
            })
        })
    }

    fn listed(self) -> TimePhrase {
        let times: Vec<String> = self.times().map(clock).collect();
        TimePhrase { words: format!("at {}", join(&times, "and")), needs_days: true }
    }

    /// Field by field: `at minutes 5 and 20 of every hour`.
    fn by_fields(self) -> String {
        let hours = members(self.hours, "hour");
        if self.seconds.single() == Some(0) {
            return format!("{} of {hours}", leading(self.minutes, "minute"));
        }
        let seconds = leading(self.seconds, "second");
        if self.minutes.is_full() && self.hours.is_full() {
            return format!("{seconds} of every minute");
        }
        format!("{seconds} of {} of {hours}", members(self.minutes, "minute"))
    }
}

/// Evenly spaced values; a single one has no step.
#[derive(Clone, Copy)]
struct Spacing {
    first: u32,
    last: u32,
    step: Option<u32>,
}

impl Spacing {
    fn of(set: ValueSet) -> Option<Self> {
        match set.single() {
            Some(value) => Some(Spacing { first: value.into(), last: value.into(), step: None }),
            None => set.progression().map(|Progression { first, last, step }| Spacing {
                first,
                last,
                step: Some(step),
            }),
        }
    }

    /// These seconds within each of the outer units, which have `unit` seconds each.
    fn within(self, outer: Spacing, unit: u32) -> Option<Spacing> {
        let step = match (self.step, outer.step) {
            (inner, None) => inner,
            (None, Some(outer)) => Some(outer * unit),
            // The last of one unit must be followed as evenly by the first of the next.
            (Some(inner), Some(1)) if self.first + unit - self.last == inner => Some(inner),
            (Some(_), Some(_)) => return None,
        };
        let (first, last) = (outer.first * unit + self.first, outer.last * unit + self.last);
        Some(Spacing { first, last, step })
    }
}

/// `every minute`, `at minute 5`, `every 7 minutes from minute 0 through minute 56`.
fn leading(set: ValueSet, unit: &str) -> String {
    match long_progression(set) {
        Some(Progression { first, last, step }) => {
            format!("every {step} {unit}s from {unit} {first} through {unit} {last}")
        }
        None if set.is_full() => format!("every {unit}"),
        None => format!("at {}", members(set, unit)),
    }
}

/// `every hour`, `hour 9`, `hours 9 through 17`, `every 2nd hour from hour 0 through hour 22`.
fn members(set: ValueSet, unit: &str) -> String {
    if set.is_full() {
        return format!("every {unit}");
    }
    if let Some(Progression { first, last, step }) = long_progression(set) {
        return format!("every {} {unit} from {unit} {first} through {unit} {last}", ordinal(step));
    }
    let plural = if set.len() == 1 { "" } else { "s" };
    let values = runs(set, |value| value.to_string());
    format!("{unit}{plural} {}", join(&values, "and"))
}
