//! A calendar's fields as sets, so that equal sets are phrased equally however they were written.

use crate::civil;
use crate::definition::{Calendar, FieldRange, SpecialDay, SpecialWeekday};

const YEAR_MIN: u16 = civil::YEAR_MIN as u16;
const YEAR_MAX: u16 = civil::YEAR_MAX as u16;

/// The fields of a [`Calendar`] that compiled, so every value is in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) seconds: ValueSet,
    pub(super) minutes: ValueSet,
    pub(super) hours: ValueSet,
    pub(super) days: ValueSet,
    /// Empty if `days` holds every day already.
    pub(super) special_days: Vec<SpecialDay>,
    pub(super) months: ValueSet,
    /// Sunday is 7 here, as weeks are spoken of from Monday to Sunday.
    pub(super) weekdays: ValueSet,
    /// Empty if `weekdays` holds every day already.
    pub(super) special_weekdays: Vec<SpecialWeekday>,
    pub(super) years: ValueSet,
}

/// Some of the whole numbers from `min` to `max`, which are at most 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueSet {
    bits: u128,
    min: u16,
    max: u16,
}

/// An arithmetic progression of at least two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progression {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) step: u32,
}

impl Fields {
    pub(super) fn of(calendar: &Calendar) -> Self {
        let years = if calendar.year.is_empty() {
            ValueSet::full(YEAR_MIN, YEAR_MAX)
        } else {
            ValueSet::of(&calendar.year, YEAR_MIN, YEAR_MAX)
        };
        let mut fields = Fields {
            seconds: ValueSet::of(&calendar.second, 0, 59),
            minutes: ValueSet::of(&calendar.minute, 0, 59),
            hours: ValueSet::of(&calendar.hour, 0, 23),
            days: ValueSet::of(&calendar.day_of_month, 1, 31),
            special_days: Vec::new(),
            months: ValueSet::of(&calendar.month, 1, 12),
            weekdays: ValueSet::of_weekdays(&calendar.day_of_week),
            special_weekdays: Vec::new(),
            years,
        };
        if !fields.days.is_full() {
            fields.special_days.clone_from(&calendar.special_days);
            fields.special_days.sort_by_key(|day| match *day {
                SpecialDay::NearestWeekday(day) => (0, day),
                SpecialDay::BeforeLast(before) => (1, 31 - before),
                SpecialDay::LastWeekday => (2, 0),
            });
            fields.special_days.dedup();
        }
        if !fields.weekdays.is_full() {
            fields.special_weekdays.clone_from(&calendar.special_weekdays);
            fields.special_weekdays.sort_by_key(|day| match *day {
                SpecialWeekday::Nth { weekday, nth } => (nth, monday_first(weekday)),
                SpecialWeekday::Last { weekday } => (6, monday_first(weekday)),
            });
            fields.special_weekdays.dedup();
        }
        fields
    }

    /// Whether some field allows no value at all.
    pub(super) fn match_nothing(&self) -> bool {
        let no_day = self.days.is_empty() && self.special_days.is_empty();
        let no_weekday = self.weekdays.is_empty() && self.special_weekdays.is_empty();
        let others = [self.seconds, self.minutes, self.hours, self.months, self.years];
        no_day || no_weekday || others.iter().any(ValueSet::is_empty)
    }

    pub(super) fn restrict_days_of_month(&self) -> bool {
        !self.days.is_full()
    }

    pub(super) fn restrict_weekdays(&self) -> bool {
        !self.weekdays.is_full()
    }

    pub(super) fn are_all_day(&self) -> bool {
        self.hours.is_full() && self.minutes.is_full() && self.seconds.is_full()
    }

    /// Whether every time of `other` is one of these, as far as the fields alone show it.
    pub(super) fn cover(&self, other: &Fields) -> bool {
        let pairs = [
            (self.seconds, other.seconds),
            (self.minutes, other.minutes),
            (self.hours, other.hours),
            (self.days, other.days),
            (self.months, other.months),
            (self.weekdays, other.weekdays),
            (self.years, other.years),
        ];
        let special_day_covered = |day| self.days.is_full() || self.special_days.contains(day);
        let special_weekday_covered = |day: &SpecialWeekday| {
            let (SpecialWeekday::Nth { weekday, .. } | SpecialWeekday::Last { weekday }) = *day;
            self.weekdays.contains(monday_first(weekday)) || self.special_weekdays.contains(day)
        };
        pairs.iter().all(|(all, some)| some.bits & !all.bits == 0)
            && other.special_days.iter().all(special_day_covered)
            && other.special_weekdays.iter().all(special_weekday_covered)
    }
}

impl ValueSet {
    pub(super) fn full(min: u16, max: u16) -> Self {
        ValueSet { bits: !0 >> (127 - (max - min)), min, max }
    }

    pub(super) fn of_values(values: impl Iterator<Item = u16>, min: u16, max: u16) -> Self {
        let bits = values
            .filter(|value| (min..=max).contains(value))
            .fold(0, |set, value| set | 1 << (value - min));
        ValueSet { bits, min, max }
    }

    fn of(ranges: &[FieldRange], min: u16, max: u16) -> Self {
        ValueSet::of_values(ranges.iter().flat_map(|range| range.values()), min, max)
    }

    fn of_weekdays(ranges: &[FieldRange]) -> Self {
        let values = ranges.iter().flat_map(|range| range.values());
        ValueSet::of_values(values.map(|day| monday_first(day as u8)), 1, 7)
    }

    pub(super) fn values(self) -> impl Iterator<Item = u16> + Clone {
        (self.min..=self.max).filter(move |&value| self.contains(value))
    }

    pub(super) fn contains(self, value: u16) -> bool {
        (self.min..=self.max).contains(&value) && self.bits & (1 << (value - self.min)) != 0
    }

    pub(super) fn len(self) -> u32 {
        self.bits.count_ones()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits == 0
    }

    pub(super) fn is_full(self) -> bool {
        self == ValueSet::full(self.min, self.max)
    }

    /// Its only value.
    pub(super) fn single(self) -> Option<u16> {
        if self.len() == 1 { self.values().next() } else { None }
    }

    pub(super) fn progression(self) -> Option<Progression> {
        Progression::of(self.values().map(u32::from))
    }

    /// Whether two values follow each other, the first after the last included.
    pub(super) fn has_neighbours(self) -> bool {
        let around = self.contains(self.min) && self.contains(self.max) && self.min < self.max;
        around || self.bits & (self.bits >> 1) != 0
    }
}

impl Progression {
    /// The progression of ascending values, if they are at least two and evenly spaced.
    pub(super) fn of(mut values: impl Iterator<Item = u32>) -> Option<Self> {
        let (first, second) = (values.next()?, values.next()?);
        let step = second - first;
        let mut last = second;
        for value in values {
            if value - last != step {
                return None;
            }
            last = value;
        }
        Some(Progression { first, last, step })
    }

    pub(super) fn len(self) -> u32 {
        (self.last - self.first) / self.step + 1
    }
}

fn monday_first(weekday: u8) -> u16 {
    if weekday == 0 { 7 } else { weekday.into() }
}
