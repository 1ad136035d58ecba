//! Phrases a calendar.

use super::day;
use super::fields::Fields;
use super::time_of_day::TimesOfDay;
use crate::definition::Calendar;

/// `at 09:00 on Monday through Friday`. The comment follows in quotes.
pub(super) fn phrase(calendar: &Calendar) -> String {
    let fields = Fields::of(calendar);
    if fields.match_nothing() {
        return commented("never".to_owned(), calendar);
    }
    let time = TimesOfDay::of(&fields).phrase();
    let days = day::phrase(&fields, time.needs_days);
    commented(format!("{}{days}", time.words), calendar)
}

/// The phrase of an exclusion: `all day on 25 December 2026`.
pub(super) fn exclusion_phrase(calendar: &Calendar) -> String {
    let fields = Fields::of(calendar);
    if fields.match_nothing() || !fields.are_all_day() {
        return phrase(calendar);
    }
    commented(format!("all day{}", day::phrase(&fields, true)), calendar)
}

fn commented(words: String, calendar: &Calendar) -> String {
    match calendar.comment.as_str() {
        "" => words,
        comment => format!("{words} ({comment:?})"),
    }
}
