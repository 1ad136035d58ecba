//! Matches days: all parts of a rule that concern the date.

use super::cadence::Cadence;
use super::month::{Month, MonthDays, YearDay};
use super::signed_positions::SignedPositions;
use super::steps::step;
use super::{ByParts, Frequency, Recurrence};
use crate::civil::Day;

/// A day matches if it is in a period of the rule and every given part allows it. With the parts that
/// [`defaults`] adds, this implements RFC 5545's whole table of "expand" and "limit".
#[derive(Clone, Debug)]
pub(super) struct DayFilter {
    cadence: Cadence,
    /// Bit 1 is January.
    months: u16,
    month_days: Option<SignedPositions<1>>,
    year_days: Option<SignedPositions<6>>,
    /// With the weekday on which weeks begin; 0 is Sunday.
    week_numbers: Option<(SignedPositions<1>, u8)>,
    weekdays: Weekdays,
}

/// `BYDAY`. Bit 0, and index 0, is Sunday.
#[derive(Clone, Debug)]
struct Weekdays {
    /// Weekdays that match in every week.
    every: u8,
    /// Weekdays of which only some match, by their position in the month or year.
    counted: u8,
    nth: Option<Box<[SignedPositions<1>; 7]>>,
    counted_within: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Month,
    Year,
}

impl DayFilter {
    pub(super) fn new(rule: &Recurrence) -> Self {
        let by = defaults(rule);
        let week_start = rule.week_start.to_sunday_zero_offset().unsigned_abs();
        DayFilter {
            cadence: Cadence::new(rule),
            months: match by.month.as_slice() {
                [] => !0,
                months => months.iter().fold(0, |set, month| set | 1 << month),
            },
            month_days: SignedPositions::new(&by.month_day),
            year_days: SignedPositions::new(&by.year_day),
            week_numbers: SignedPositions::new(&by.week_no).map(|numbers| (numbers, week_start)),
            weekdays: Weekdays::new(&by, rule.frequency),
        }
    }

    /// The matching days from `first` to `last`, both included.
    pub(super) fn between(&self, first: Day, last: Day) -> Days<'_> {
        let month = Month::of(first);
        let candidates = self.candidates(month) & month.days_from(first);
        Days { filter: self, month, candidates, last }
    }

    /// The matching days of a whole month.
    pub(super) fn days_in(&self, month: Month) -> MonthDays {
        let candidates = self.candidates(month);
        let masks_tell_all =
            self.year_days.is_none() && self.week_numbers.is_none() && self.weekdays.nth.is_none();
        if masks_tell_all {
            return candidates;
        }
        let days = Days { filter: self, month, candidates, last: month.last() };
        days.fold(0, |set, day| set | 2 << (day.0 - month.first.0))
    }

    pub(super) fn contains(&self, day: Day) -> bool {
        self.between(day, day).next().is_some()
    }

    /// The days of the month that pass the bit masks. [`allows`](Self::allows) checks the rest.
    fn candidates(&self, month: Month) -> MonthDays {
        step();
        if self.months & 1 << month.month == 0 {
            return 0;
        }
        let mut days = self.cadence.days_in(month);
        if let Some(month_days) = &self.month_days {
            days &= month_days.places(month.length) as MonthDays;
        }
        days & month.days_on(self.weekdays.every | self.weekdays.counted)
    }

    /// The checks that bit masks can't express.
    fn allows(&self, month: Month, day_of_month: u8) -> bool {
        let day = month.day(day_of_month);
        if let Some(year_days) = &self.year_days {
            let at = YearDay::of(day, month.year);
            if !year_days.contains(at.day, at.year_length) {
                return false;
            }
        }
        if let Some((numbers, week_start)) = &self.week_numbers
            && !is_in_week(day, *week_start, numbers)
        {
            return false;
        }
        self.weekdays.allow(month, day_of_month)
    }
}

/// The parts with defaults from `DTSTART`: the day of a rule that doesn't specify one.
fn defaults(rule: &Recurrence) -> ByParts {
    let mut by = ByParts::clone(&rule.by);
    let silent = by.week_no.is_empty()
        && by.year_day.is_empty()
        && by.month_day.is_empty()
        && by.day.is_empty();
    if silent {
        let start = rule.anchor();
        match rule.frequency {
            Frequency::Yearly => {
                by.month_day = vec![start.day()];
                if by.month.is_empty() {
                    by.month = vec![start.month().unsigned_abs()];
                }
            }
            Frequency::Monthly => by.month_day = vec![start.day()],
            Frequency::Weekly => {
                by.day = vec![super::WeekdayNum { nth: None, weekday: start.weekday() }];
            }
            Frequency::Daily | Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => {}
        }
    }
    by
}

/// A week belongs to the year that has most of its days, so the first days of January may be in the
/// last week of the year before. A day counts for the calendar year it is in all the same.
fn is_in_week(day: Day, week_start: u8, numbers: &SignedPositions<1>) -> bool {
    let into_week = (7 + day.weekday() - week_start) % 7;
    let middle = Day(day.0 - i32::from(into_week) + 3);
    let middle = YearDay::of(middle, middle.date().year);
    let weeks_before = (middle.day - 1) / 7;
    let weeks_after = (middle.year_length - middle.day) / 7;
    numbers.has(weeks_before + 1, weeks_after + 1)
}

impl Weekdays {
    fn new(by: &ByParts, frequency: Frequency) -> Self {
        let in_year = frequency == Frequency::Yearly && by.month.is_empty();
        let mut weekdays = Weekdays {
            every: if by.day.is_empty() { !0 } else { 0 },
            counted: 0,
            nth: None,
            counted_within: if in_year { Span::Year } else { Span::Month },
        };
        for day in &by.day {
            let weekday = day.weekday.to_sunday_zero_offset().unsigned_abs();
            match day.nth {
                None => weekdays.every |= 1 << weekday,
                Some(nth) => {
                    weekdays.counted |= 1 << weekday;
                    let counts =
                        weekdays.nth.get_or_insert_with(|| Box::new([SignedPositions::EMPTY; 7]));
                    counts[usize::from(weekday)].insert(nth.into());
                }
            }
        }
        weekdays
    }

    fn allow(&self, month: Month, day_of_month: u8) -> bool {
        let Some(nth) = &self.nth else { return true };
        let weekday = month.day(day_of_month).weekday();
        if self.every & 1 << weekday != 0 {
            return true;
        }
        let (place, length) = match self.counted_within {
            Span::Month => (u16::from(day_of_month), u16::from(month.length)),
            Span::Year => {
                let at = YearDay::of(month.day(day_of_month), month.year);
                (at.day, at.year_length)
            }
        };
        nth[usize::from(weekday)].has((place - 1) / 7 + 1, (length - place) / 7 + 1)
    }
}

/// Matching days in order.
pub(super) struct Days<'f> {
    filter: &'f DayFilter,
    month: Month,
    /// The remaining days of `month`.
    candidates: MonthDays,
    last: Day,
}

impl Iterator for Days<'_> {
    type Item = Day;

    fn next(&mut self) -> Option<Day> {
        loop {
            while self.candidates != 0 {
                step();
                let day_of_month = self.candidates.trailing_zeros() as u8;
                self.candidates &= self.candidates - 1;
                let day = self.month.day(day_of_month);
                if day > self.last {
                    return None;
                }
                if self.filter.allows(self.month, day_of_month) {
                    return Some(day);
                }
            }
            self.month = self.month.following();
            if self.month.first > self.last {
                return None;
            }
            self.candidates = self.filter.candidates(self.month);
        }
    }
}
