//! The dialect of Temporal's schedules, extended by `L`, `W` and `#`.

use super::field::{self, Field, Names};
use crate::definition::{Calendar, FieldRange, SpecialDay, SpecialWeekday};
use crate::error::Fault;

/// Reads five to seven fields, or a predefined name, with a trailing `# comment`.
pub(super) fn parse(text: &str) -> Result<Calendar, Fault<'_>> {
    let (fields, comment) = split_comment(text);
    if let Some(predefined) = super::predefined(fields)? {
        let mut calendar = parse_fields(predefined).expect("our own predefined crons are right");
        calendar.comment = comment.to_owned();
        return Ok(calendar);
    }
    let mut calendar = parse_fields(fields)?;
    calendar.comment = comment.to_owned();
    Ok(calendar)
}

/// Hint for a sixth field that was probably meant as seconds.
pub(crate) const SIXTH_IS_YEAR: &str =
    "the sixth field is the year; for seconds use seven fields or DIALECT=dbos";

fn parse_fields(text: &str) -> Result<Calendar, Fault<'_>> {
    const HELP: &str = "minute, hour, day of month, month, day of week; a sixth is the year; of \
                        seven the first is the second";
    let words = field::words(text, &[5, 6, 7], HELP)?;
    let (second, rest) = match words.as_slice() {
        [second, rest @ ..] if words.len() == 7 => (Some(*second), rest),
        rest => (None, rest),
    };
    let mut calendar =
        Calendar { second: vec![FieldRange::single(0)], year: Vec::new(), ..Calendar::default() };
    let fields = [Field::Minute, Field::Hour, Field::DayOfMonth, Field::Month, Field::DayOfWeek];
    let fields = fields.into_iter().chain([Field::Year]);
    for (field, word) in fields.zip(rest) {
        let read = set(&mut calendar, field, word);
        // Elsewhere six fields begin with the second, and the last one is the weekday.
        let is_mistaken = field == Field::Year && words.len() == 6 && word.len() < 4;
        read.map_err(|fault| if is_mistaken { fault.help(SIXTH_IS_YEAR) } else { fault })?;
    }
    if let Some(second) = second {
        set(&mut calendar, Field::Second, second)?;
    }
    Ok(calendar)
}

/// Cuts off a `#` comment. A `#` that counts weekdays (`FRI#2`) is not one.
pub(super) fn split_comment(text: &str) -> (&str, &str) {
    for (at, _) in text.match_indices('#') {
        let before = text[..at].chars().next_back();
        let mut after = text[at + 1..].chars();
        let counts_weekdays = before.is_some_and(|c| c.is_ascii_alphanumeric())
            && after.next().is_some_and(|c| c.is_ascii_digit())
            && after.next().is_none_or(|c| c == ',' || c.is_whitespace());
        if !counts_weekdays {
            return (text[..at].trim_end(), text[at + 1..].trim());
        }
    }
    (text, "")
}

/// Reads one field into the calendar.
pub(super) fn set<'t>(
    calendar: &mut Calendar,
    field: Field,
    text: &'t str,
) -> Result<(), Fault<'t>> {
    let mut ranges = Vec::with_capacity(1);
    if text == "*" {
        ranges = field.all();
    } else {
        for item in text.split(',') {
            match field {
                Field::DayOfMonth if is_special(item) => {
                    calendar.special_days.push(special_day(item)?);
                }
                Field::DayOfWeek if is_special_weekday(item) => {
                    calendar.special_weekdays.push(special_weekday(item)?);
                }
                _ => push_range(&mut ranges, field, item)?,
            }
        }
    }
    *match field {
        Field::Second => &mut calendar.second,
        Field::Minute => &mut calendar.minute,
        Field::Hour => &mut calendar.hour,
        Field::DayOfMonth => &mut calendar.day_of_month,
        Field::Month => &mut calendar.month,
        Field::DayOfWeek => &mut calendar.day_of_week,
        Field::Year => &mut calendar.year,
    } = ranges;
    Ok(())
}

fn push_range<'t>(
    ranges: &mut Vec<FieldRange>,
    field: Field,
    item: &'t str,
) -> Result<(), Fault<'t>> {
    let (min, max) = field.bounds();
    let (base, step) = match item.split_once('/') {
        Some((base, step)) => (base, Some(field.step(step)?)),
        None => (item, None),
    };
    let (start, mut end) = match base {
        "*" => (min, max),
        _ => field.span(base, Names::Prefixes)?,
    };
    // With a step, a single value runs to the end of the field.
    if step.is_some() && base != "*" && !base.contains('-') {
        end = max;
    }
    let step = step.unwrap_or(1);
    if field == Field::DayOfWeek && end == 7 {
        // Sunday is 0 in canonical form, which may take a range of its own: 3-7 is 0,3-6.
        if (7 - start).is_multiple_of(step) && (step > 1 || start > 0) {
            ranges.push(FieldRange::single(0));
            if start == 7 {
                return Ok(());
            }
        }
        end = 6;
    }
    ranges.push(FieldRange { start, end, step });
    Ok(())
}

fn is_special(item: &str) -> bool {
    item.starts_with(['L', 'l']) || item.ends_with(['W', 'w'])
}

fn special_day(item: &str) -> Result<SpecialDay, Fault<'_>> {
    let upper = item.to_ascii_uppercase();
    match upper.as_str() {
        "L" => return Ok(SpecialDay::BeforeLast(0)),
        "LW" | "WL" => return Ok(SpecialDay::LastWeekday),
        _ => {}
    }
    if upper.starts_with("L-") {
        let before = &item[2..];
        return match before.parse::<u8>() {
            Ok(before @ 0..=30) => Ok(SpecialDay::BeforeLast(before)),
            _ => Err(Fault::new(before, format!("{before:?} is not a number of days 0–30"))
                .help("L-3 is the third day before the last")),
        };
    }
    if let Some(day) = item.strip_suffix(['W', 'w']) {
        let day = Field::DayOfMonth.value(day, Names::Prefixes)?;
        return Ok(SpecialDay::NearestWeekday(day as u8));
    }
    Err(Fault::new(item, format!("{item:?} is not a day of month"))
        .help("L is the last day, L-3 three days before it, LW the last weekday"))
}

fn is_special_weekday(item: &str) -> bool {
    // Not the names themselves: none of them ends in L.
    item.contains('#') || item.ends_with(['L', 'l'])
}

fn special_weekday(item: &str) -> Result<SpecialWeekday, Fault<'_>> {
    let weekday = |text| Field::DayOfWeek.value(text, Names::Prefixes).map(|day| (day % 7) as u8);
    if let Some((day, nth)) = item.split_once('#') {
        let weekday = weekday(day)?;
        if nth.eq_ignore_ascii_case("L") {
            return Ok(SpecialWeekday::Last { weekday });
        }
        return match nth.parse::<u8>() {
            Ok(nth @ 1..=5) => Ok(SpecialWeekday::Nth { weekday, nth }),
            _ => Err(Fault::new(nth, format!("{nth:?} is not one of 1–5"))
                .help("FRI#2 is the second Friday of the month, FRIL the last")),
        };
    }
    let day = item.strip_suffix(['L', 'l']).unwrap_or(item);
    if day.is_empty() {
        return Err(Fault::new(item, "L alone is not a day of week")
            .help("FRIL is the last Friday of the month"));
    }
    Ok(SpecialWeekday::Last { weekday: weekday(day)? })
}
