//! Phrases recurrence rules.

use jiff::civil::{DateTime, Weekday};

use super::fields::ValueSet;
use super::time_of_day::TimesOfDay;
use super::wording::{counted, date_at, every_unit, join, month, ordinal, runs};
use crate::recurrence::{Frequency, Recurrence, Until, WeekdayNum};

/// `every 2 weeks on Monday and Wednesday at 09:00, recurring from 2026-01-05 at 09:00`. Where words
/// would be long or could be taken two ways, the rule itself follows in brackets.
pub(super) fn phrase(rule: &Recurrence) -> String {
    let words = Words::of(rule);
    let every = every_unit(rule.interval(), unit(rule.frequency()));
    let days = words.days();
    let times = words.times();
    let chosen = words.positions();
    let tail = words.tail();
    if words.are_complete() {
        return format!("{every}{days}{times}{chosen}, recurring{tail}");
    }
    format!("{every}{days}{times}{chosen}, recurring{tail} [{rule}]")
}

/// Whether the rule has times in every hour of the days it has any on.
pub(super) fn comes_all_day(rule: &Recurrence) -> bool {
    let interval_max = match rule.frequency() {
        Frequency::Secondly => 3_600,
        Frequency::Minutely => 60,
        Frequency::Hourly => 1,
        Frequency::Daily | Frequency::Weekly | Frequency::Monthly | Frequency::Yearly => 0,
    };
    rule.interval() <= interval_max && rule.by_hour().is_empty()
}

/// The months a rule may fall in.
pub(super) fn months(rule: &Recurrence) -> ValueSet {
    match Words::of(rule).months.as_slice() {
        [] => ValueSet::full(1, 12),
        months => ValueSet::of_values(months.iter().map(|month| u16::from(*month)), 1, 12),
    }
}

/// The days of the month it falls on, those counted from the end as negative numbers.
pub(super) fn days_of_month(rule: &Recurrence) -> Vec<i8> {
    Words::of(rule).month_days
}

/// A rule with the days filled in that it takes from its start.
struct Words<'r> {
    rule: &'r Recurrence,
    start: DateTime,
    months: Vec<u8>,
    month_days: Vec<i8>,
    weekdays: Vec<WeekdayNum>,
}

impl<'r> Words<'r> {
    fn of(rule: &'r Recurrence) -> Self {
        let start = rule.dtstart().unwrap_or(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
        let mut words = Words {
            rule,
            start,
            months: rule.by_month().to_vec(),
            month_days: rule.by_month_day().to_vec(),
            weekdays: rule.by_day().to_vec(),
        };
        let days_are_given = !words.month_days.is_empty()
            || !words.weekdays.is_empty()
            || !rule.by_week_no().is_empty()
            || !rule.by_year_day().is_empty();
        match rule.frequency() {
            _ if days_are_given => {}
            Frequency::Yearly => {
                words.month_days.push(start.day());
                if words.months.is_empty() {
                    words.months.push(start.month().unsigned_abs());
                }
            }
            Frequency::Monthly => words.month_days.push(start.day()),
            Frequency::Weekly => {
                words.weekdays.push(WeekdayNum { nth: None, weekday: start.weekday() });
            }
            Frequency::Daily | Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => {}
        }
        words
    }

    /// Whether the rule can be read back from the words: days and times each stand for themselves,
    /// and nothing is chosen from what they give.
    fn are_complete(&self) -> bool {
        let rule = self.rule;
        let limits =
            !self.months.is_empty() || !self.month_days.is_empty() || !self.weekdays.is_empty();
        let has_times = |times: &[u8]| times.iter().all(|time| *time < 60);
        let by_period = match rule.frequency() {
            // Which weeks are counted depends on when they begin.
            Frequency::Weekly => rule.interval() == 1 || rule.week_start() == Weekday::Monday,
            Frequency::Yearly | Frequency::Monthly => true,
            Frequency::Daily => rule.interval() == 1 || !limits,
            Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => {
                let times = [rule.by_hour(), rule.by_minute(), rule.by_second()];
                !limits && times.iter().all(|times| times.is_empty())
            }
        };
        by_period
            && rule.by_set_pos().is_empty()
            && rule.by_week_no().is_empty()
            && rule.by_year_day().is_empty()
            && has_times(rule.by_second())
    }

    /// ` on the 13th in May, if it is a Friday`.
    fn days(&self) -> String {
        let rule = self.rule;
        let mut words = Vec::new();
        if !rule.by_year_day().is_empty() {
            words.push(format!(" on the {} day of the year", places(rule.by_year_day())));
        }
        if !rule.by_week_no().is_empty() {
            words.push(format!(" in the {} week of the year", places(rule.by_week_no())));
        }
        let of_the_month = if self.months.is_empty() { " of the month" } else { "" };
        if !self.month_days.is_empty() {
            words.push(format!(" on the {}{of_the_month}", month_days(&self.month_days)));
        }
        let condition = if self.month_days.is_empty() { " on " } else { ", if it is " };
        let weekdays = self.weekdays(if self.month_days.is_empty() { "and" } else { "or" });
        let months = match self.months.is_empty() {
            true => String::new(),
            false => {
                let set = ValueSet::of_values(self.months.iter().map(|m| u16::from(*m)), 1, 12);
                format!(" in {}", join(&runs(set, |number| month(number).to_owned()), "and"))
            }
        };
        match (self.weekdays.is_empty(), self.month_days.is_empty()) {
            (true, _) => words.push(months),
            (false, true) => words.push(format!("{condition}{weekdays}{months}")),
            (false, false) => words.push(format!("{months}{condition}{weekdays},")),
        }
        words.concat()
    }

    /// `Monday and the 2nd Friday of the month`.
    fn weekdays(&self, last_word: &str) -> String {
        let monday_first = |day: Weekday| day.to_monday_one_offset().unsigned_abs().into();
        let every = self.weekdays.iter().filter(|day| day.nth.is_none());
        let every = ValueSet::of_values(every.map(|day| monday_first(day.weekday)), 1, 7);
        let name = |number: u16| super::wording::weekday(number).to_owned();
        let mut items = runs(every, name);
        let counted = self.weekdays.iter().filter_map(|day| Some((day.nth?, day.weekday)));
        items.extend(
            counted
                .clone()
                .map(|(nth, day)| format!("the {} {}", place(nth), name(monday_first(day)))),
        );
        let in_year = self.rule.frequency() == Frequency::Yearly && self.rule.by_month().is_empty();
        let within = match counted.count() {
            0 => "",
            _ if in_year => " of the year",
            _ => " of the month",
        };
        format!("{}{within}", join(&items, last_word))
    }

    /// ` at 09:00`. What is not given is as in the start.
    fn times(&self) -> String {
        let rule = self.rule;
        let set = |given: &[u8], start: i8, max| match given {
            [] => ValueSet::of_values([u16::from(start.unsigned_abs())].into_iter(), 0, max),
            given => ValueSet::of_values(given.iter().map(|value| u16::from(*value)), 0, max),
        };
        let times = TimesOfDay {
            hours: set(rule.by_hour(), self.start.hour(), 23),
            minutes: set(rule.by_minute(), self.start.minute(), 59),
            seconds: set(rule.by_second(), self.start.second(), 59),
        };
        if rule.frequency() < Frequency::Daily {
            return self.time_limits();
        }
        if times.seconds.is_empty() {
            return " at no time".to_owned();
        }
        format!(" {}", times.phrase().words)
    }

    /// ` in hours 9 and 10 at minute 30`, for rules in hours or less.
    fn time_limits(&self) -> String {
        let rule = self.rule;
        let limits = [
            ("in hour", rule.by_hour()),
            ("at minute", rule.by_minute()),
            ("at second", rule.by_second()),
        ];
        let limits = limits.into_iter().filter(|(_, values)| !values.is_empty());
        let words = limits.map(|(unit, values)| {
            let set = ValueSet::of_values(values.iter().map(|value| u16::from(*value)), 0, 60);
            let plural = if set.len() == 1 { "" } else { "s" };
            format!(" {unit}{plural} {}", join(&runs(set, |value| value.to_string()), "and"))
        });
        words.collect()
    }

    /// `, of which only the last in each month`.
    fn positions(&self) -> String {
        match self.rule.by_set_pos() {
            [] => String::new(),
            positions => format!(
                ", of which only the {} in each {}",
                places(positions),
                unit(self.rule.frequency())
            ),
        }
    }

    /// ` from 2026-01-05 at 09:00 until 2026-12-24 at 00:00`.
    fn tail(&self) -> String {
        let rule = self.rule;
        let from = match rule.dtstart() {
            Some(start) => format!(" from {}", date_at(start)),
            None => " since 1970-01-01".to_owned(),
        };
        let until = match rule.until() {
            None => String::new(),
            Some(Until::Wall(until)) => format!(" until {}", date_at(until)),
            Some(Until::Instant(until)) => format!(" until {until}"),
        };
        let count = match rule.count() {
            None => String::new(),
            Some(count) => format!(", {} in all", counted(count.into(), "time")),
        };
        format!("{from}{until}{count}")
    }
}

fn unit(frequency: Frequency) -> &'static str {
    match frequency {
        Frequency::Secondly => "second",
        Frequency::Minutely => "minute",
        Frequency::Hourly => "hour",
        Frequency::Daily => "day",
        Frequency::Weekly => "week",
        Frequency::Monthly => "month",
        Frequency::Yearly => "year",
    }
}

/// `1st, 15th and last day`.
fn month_days(days: &[i8]) -> String {
    let from_start = days.iter().filter_map(|day| u16::try_from(*day).ok());
    let mut items = runs(ValueSet::of_values(from_start, 1, 31), |day| ordinal(u32::from(day)));
    let from_end = days.iter().filter(|day| **day < 0);
    items.extend(from_end.map(|day| format!("{} day", place(*day))));
    join(&items, "and")
}

fn places<N: Into<i16> + Copy>(numbers: &[N]) -> String {
    let places: Vec<String> = numbers.iter().map(|number| place(*number)).collect();
    join(&places, "and")
}

/// `2nd`, `last`, `2nd-to-last`.
fn place(number: impl Into<i16>) -> String {
    match number.into() {
        -1 => "last".to_owned(),
        number if number < 0 => format!("{}-to-last", ordinal(number.unsigned_abs().into())),
        number => ordinal(number.unsigned_abs().into()),
    }
}
