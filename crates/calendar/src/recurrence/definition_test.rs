//! What the times of a rule are, by RFC 5545 word for word: walks whole days and seconds, shares no
//! code with the search, and uses jiff's calendar instead of ours. Slow on purpose.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};

use super::{Frequency, Recurrence, WeekdayNum};

/// All times of the rule from `from` to `to`, both included.
pub(super) fn times(rule: &Recurrence, from: DateTime, to: DateTime) -> Vec<DateTime> {
    let mut all = Vec::new();
    let (mut date, _) = period_of(rule, from.date());
    let (_, last) = period_of(rule, to.date());
    while date <= last {
        all.extend(times_of_day(rule, date));
        date = date.tomorrow().unwrap();
    }
    let chosen = all.chunk_by(|a, b| same_period(rule, *a, *b)).flat_map(|set| chosen(rule, set));
    chosen.filter(|t| from <= *t && *t <= to && *t >= rule.anchor() && t.year() <= 2100).collect()
}

/// Which of the times of one period BYSETPOS names.
fn chosen(rule: &Recurrence, set: &[DateTime]) -> Vec<DateTime> {
    let positions = rule.by_set_pos();
    let is_chosen = |place: usize| {
        let from_first = place as i64 + 1;
        let from_last = place as i64 - set.len() as i64;
        positions.iter().any(|p| i64::from(*p) == from_first || i64::from(*p) == from_last)
    };
    let places = (0..set.len()).filter(|place| positions.is_empty() || is_chosen(*place));
    places.map(|place| set[place]).collect()
}

/// The first and last day of the period that `date` is in; of a part of a day, that day.
fn period_of(rule: &Recurrence, date: Date) -> (Date, Date) {
    match rule.frequency() {
        Frequency::Yearly => (date.first_of_year(), date.last_of_year()),
        Frequency::Monthly => (date.first_of_month(), date.last_of_month()),
        Frequency::Weekly => (week_of(rule, date), week_of(rule, date) + 6.days()),
        Frequency::Daily | Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => {
            (date, date)
        }
    }
}

fn same_period(rule: &Recurrence, a: DateTime, b: DateTime) -> bool {
    let same_day = a.date() == b.date();
    match rule.frequency() {
        Frequency::Secondly => a == b,
        Frequency::Minutely => same_day && (a.hour(), a.minute()) == (b.hour(), b.minute()),
        Frequency::Hourly => same_day && a.hour() == b.hour(),
        Frequency::Daily => same_day,
        Frequency::Weekly | Frequency::Monthly | Frequency::Yearly => {
            same_day || period_of(rule, a.date()) == period_of(rule, b.date())
        }
    }
}

/// The times of a day before BYSETPOS.
fn times_of_day(rule: &Recurrence, date: Date) -> Vec<DateTime> {
    let mut found = Vec::new();
    let whole_days = rule.frequency() >= Frequency::Daily;
    if whole_days && !is_multiple(rule, date.at(0, 0, 0, 0)) || !is_day(rule, date) {
        return found;
    }
    let start = rule.anchor();
    // A part that is not given is DTSTART's in a longer period, and anything in a shorter one.
    let is = |list: &[u8], value: i8, of_start: i8, free: bool| match list {
        [] => free || value == of_start,
        list => list.contains(&(value as u8)),
    };
    let freq = rule.frequency();
    for hour in 0..24 {
        if !is(rule.by_hour(), hour, start.hour(), freq <= Frequency::Hourly) {
            continue;
        }
        for minute in 0..60 {
            if !is(rule.by_minute(), minute, start.minute(), freq <= Frequency::Minutely) {
                continue;
            }
            for second in 0..60 {
                let time = date.at(hour, minute, second, 0);
                if is(rule.by_second(), second, start.second(), freq <= Frequency::Secondly)
                    && (whole_days || is_multiple(rule, time))
                {
                    found.push(time);
                }
            }
        }
    }
    found
}

/// Whether the period that `time` is in is a multiple of INTERVAL after that of DTSTART.
fn is_multiple(rule: &Recurrence, time: DateTime) -> bool {
    let start = rule.anchor();
    let whole = |length: i64| {
        let into_hour = i64::from(start.minute()) * 60 + i64::from(start.second());
        (time.duration_since(start).as_secs() + into_hour % length).div_euclid(length)
    };
    let days = |from: Date, to: Date| i64::from((to - from).get_days());
    let passed = match rule.frequency() {
        Frequency::Yearly => i64::from(time.year() - start.year()),
        Frequency::Monthly => {
            i64::from(time.year() - start.year()) * 12 + i64::from(time.month() - start.month())
        }
        Frequency::Weekly => days(week_of(rule, start.date()), week_of(rule, time.date())) / 7,
        Frequency::Daily => days(start.date(), time.date()),
        Frequency::Hourly => whole(3600),
        Frequency::Minutely => whole(60),
        Frequency::Secondly => whole(1),
    };
    passed % i64::from(rule.interval()) == 0
}

fn week_of(rule: &Recurrence, date: Date) -> Date {
    let mut first = date;
    while first.weekday() != rule.week_start() {
        first = first.yesterday().unwrap();
    }
    first
}

fn is_day(rule: &Recurrence, date: Date) -> bool {
    let start = rule.anchor();
    let freq = rule.frequency();
    let nothing_said = rule.by_week_no().is_empty()
        && rule.by_year_day().is_empty()
        && rule.by_month_day().is_empty()
        && rule.by_day().is_empty();
    if nothing_said {
        let same_month = rule.by_month().is_empty() && freq == Frequency::Yearly;
        if same_month && date.month() != start.month()
            || freq >= Frequency::Monthly && date.day() != start.day()
            || freq == Frequency::Weekly && date.weekday() != start.weekday()
        {
            return false;
        }
    }
    let month = rule.by_month().is_empty() || rule.by_month().contains(&(date.month() as u8));
    let month_day = rule.by_month_day().is_empty()
        || rule.by_month_day().contains(&date.day())
        || rule.by_month_day().contains(&(date.day() - date.days_in_month() - 1));
    let year_day = rule.by_year_day().is_empty()
        || rule.by_year_day().contains(&date.day_of_year())
        || rule.by_year_day().contains(&(date.day_of_year() - date.days_in_year() - 1));
    let week_no = rule.by_week_no().is_empty() || {
        let first = week_of(rule, date);
        // The year that has four of the seven days.
        let year = (first + 3.days()).year();
        let all: Vec<Date> =
            std::iter::successors(Some(week_of(rule, Date::constant(year - 1, 12, 20))), |week| {
                Some(*week + 7.days())
            })
            .skip_while(|week| (*week + 3.days()).year() < year)
            .take_while(|week| (*week + 3.days()).year() == year)
            .collect();
        let place = all.iter().position(|week| *week == first).unwrap() as i8;
        let length = all.len() as i8;
        rule.by_week_no().iter().any(|n| *n == place + 1 || *n == place - length)
    };
    let day =
        rule.by_day().is_empty() || rule.by_day().iter().any(|day| is_weekday(rule, *day, date));
    month && month_day && year_day && week_no && day
}

fn is_weekday(rule: &Recurrence, day: WeekdayNum, date: Date) -> bool {
    if date.weekday() != day.weekday {
        return false;
    }
    let Some(nth) = day.nth else { return true };
    let in_year = rule.frequency() == Frequency::Yearly && rule.by_month().is_empty();
    let same_span =
        |other: Date| other.year() == date.year() && (in_year || other.month() == date.month());
    let every = |step: i64| {
        let others = std::iter::successors(Some(date), move |d| Some(*d + step.days()));
        others.take_while(|d| same_span(*d)).count()
    };
    nth as isize == every(-7) as isize || nth as isize == -(every(7) as isize)
}
