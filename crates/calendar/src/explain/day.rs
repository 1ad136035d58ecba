//! Phrases the days of a calendar: days of the month, weekdays, months, years.

use super::fields::{Fields, Progression, ValueSet};
use super::wording::{join, long_progression, month, ordinal, runs, weekday};
use crate::definition::{SpecialDay, SpecialWeekday};

/// The words after the time, such as ` on Monday through Friday in May`. Empty for every day, unless
/// `say_every_day`.
pub(super) fn phrase(fields: &Fields, say_every_day: bool) -> String {
    if let Some(date) = single_date(fields) {
        return date;
    }
    let period = period(fields);
    let by_month = fields.restrict_days_of_month();
    let by_week = fields.restrict_weekdays();
    // In named months the days need not be said to be "of the month".
    let of_the_month = if fields.months.is_full() { " of the month" } else { "" };
    match (by_month, by_week) {
        (false, false) if say_every_day => format!(" every day{period}"),
        (false, false) => period,
        (true, false) => format!(" on {}{period}", days_of_month(fields, of_the_month)),
        (false, true) => format!(" on {}{period}", weekdays(fields, "and", of_the_month)),
        (true, true) => format!(
            " on {}{period}, if it is {}",
            days_of_month(fields, of_the_month),
            condition(fields)
        ),
    }
}

/// ` on 25 December 2026`.
fn single_date(fields: &Fields) -> Option<String> {
    if fields.restrict_weekdays() || !fields.special_days.is_empty() {
        return None;
    }
    let (day, number) = (fields.days.single()?, fields.months.single()?);
    Some(format!(" on {day} {} {}", month(number), fields.years.single()?))
}

/// ` in May of 2026 and 2027`.
fn period(fields: &Fields) -> String {
    let months = join(&runs(fields.months, |number| month(number).to_owned()), "and");
    let years = years(fields.years);
    match (fields.months.is_full(), fields.years.is_full()) {
        (true, true) => String::new(),
        (true, false) => format!(" in {years}"),
        (false, true) => format!(" in {months}"),
        (false, false) => format!(" in {months} of {years}"),
    }
}

pub(super) fn years(set: ValueSet) -> String {
    match long_progression(set) {
        Some(Progression { first, last, step }) => {
            format!("every {} year from {first} through {last}", ordinal(step))
        }
        None => join(&runs(set, |year| year.to_string()), "and"),
    }
}

fn days_of_month(fields: &Fields, of_the_month: &str) -> String {
    if fields.special_days.is_empty()
        && let Some(Progression { first, last, step }) = long_progression(fields.days)
    {
        let (first, last) = (ordinal(first), ordinal(last));
        return format!(
            "every {} day{of_the_month} from the {first} through the {last}",
            ordinal(step)
        );
    }
    let mut items = runs(fields.days, |day| ordinal(day.into()));
    items.extend(fields.special_days.iter().map(|day| match *day {
        SpecialDay::BeforeLast(0) => "last day".to_owned(),
        SpecialDay::BeforeLast(before) => {
            format!("{} day before the last day", ordinal(before.into()))
        }
        SpecialDay::LastWeekday => "last weekday (Monday to Friday)".to_owned(),
        SpecialDay::NearestWeekday(day) => {
            format!("weekday (Monday to Friday) nearest the {}", ordinal(day.into()))
        }
    }));
    format!("the {}{of_the_month}", join(&items, "and"))
}

/// `Monday through Friday`, `Monday and the 2nd Friday of the month`.
fn weekdays(fields: &Fields, last_word: &str, of_the_month: &str) -> String {
    let mut items = runs(fields.weekdays, |day| weekday(day).to_owned());
    items.extend(fields.special_weekdays.iter().map(|day| match *day {
        SpecialWeekday::Nth { weekday: day, nth } => {
            format!("the {} {}", ordinal(nth.into()), weekday(day.into()))
        }
        SpecialWeekday::Last { weekday: day } => format!("the last {}", weekday(day.into())),
    }));
    let counted = if fields.special_weekdays.is_empty() { "" } else { of_the_month };
    format!("{}{counted}", join(&items, last_word))
}

fn condition(fields: &Fields) -> String {
    match fields.weekdays.single() {
        Some(day) if fields.special_weekdays.is_empty() => format!("a {}", weekday(day)),
        _ => weekdays(fields, "or", " of the month"),
    }
}
