//! The DBOS dialect: seconds first, and a `/divisor` that keeps the values it divides.

use super::field::{self, Field, Names};
use crate::definition::{Calendar, FieldRange};
use crate::error::Fault;

/// Reads five fields, or six that begin with the second.
pub(super) fn parse(text: &str) -> Result<Calendar, Fault<'_>> {
    const HELP: &str = "minute, hour, day of month, month, day of week; of six the first is the \
                        second";
    let words = field::words(text, &[5, 6], HELP)?;
    let (second, rest) = match words.as_slice() {
        [second, rest @ ..] if words.len() == 6 => (parse_field(Field::Second, second)?, rest),
        rest => (vec![FieldRange::single(0)], rest),
    };
    let [minute, hour, day_of_month, month, day_of_week] = rest else {
        return Err(Fault::new(text, "a crontab has 5 or 6 fields").help(HELP));
    };
    Ok(Calendar {
        second,
        minute: parse_field(Field::Minute, minute)?,
        hour: parse_field(Field::Hour, hour)?,
        day_of_month: parse_field(Field::DayOfMonth, day_of_month)?,
        month: parse_field(Field::Month, month)?,
        day_of_week: parse_field(Field::DayOfWeek, day_of_week)?,
        ..Calendar::default()
    })
}

fn parse_field(field: Field, text: &str) -> Result<Vec<FieldRange>, Fault<'_>> {
    let (min, max) = field.bounds();
    let (list, divisor) = match text.split_once('/') {
        Some((list, divisor)) => (list, Some(parse_divisor(field, divisor)?)),
        None => (text, None),
    };
    let spans = if list == "*" {
        let last = if field == Field::DayOfWeek { 6 } else { max };
        vec![(min, last)]
    } else {
        let items = list.split(',');
        items.map(|item| field.span(item, Names::FullOrThree)).collect::<Result<Vec<_>, _>>()?
    };
    // Divisibility is of the number as written: 7 is divisible by 7 before it becomes Sunday, 0.
    let mut wanted = [false; 60];
    for (start, end) in spans {
        for value in (start..=end).filter(|value| divisor.is_none_or(|d| value % d == 0)) {
            let value = if field == Field::DayOfWeek { value % 7 } else { value };
            wanted[usize::from(value)] = true;
        }
    }
    let ranges = runs(&wanted);
    if ranges.is_empty() {
        let divisor = divisor.unwrap_or(1);
        let message = format!("no {} in {list} is divisible by {divisor}", field.name());
        return Err(Fault::new(text, message)
            .help("/n keeps the values that n divides; it is not a step in this dialect"));
    }
    Ok(ranges)
}

fn parse_divisor(field: Field, text: &str) -> Result<u16, Fault<'_>> {
    let (_, max) = field.bounds();
    match text.parse::<u16>() {
        Ok(divisor) if (2..=max).contains(&divisor) => Ok(divisor),
        _ => Err(Fault::new(text, format!("the divisor {text:?} is not within 2–{max}"))
            .help("one divisor may follow the whole list, such as 10-19/2")),
    }
}

/// The fewest ranges, of one common step if the values have one.
fn runs(wanted: &[bool; 60]) -> Vec<FieldRange> {
    let values: Vec<u16> = (0..60).filter(|&v| wanted[usize::from(v)]).collect();
    if let [first, second, .., last] = values[..] {
        let step = second - first;
        if step > 1 && values.windows(2).all(|pair| pair[1] - pair[0] == step) {
            return vec![FieldRange { start: first, end: last, step }];
        }
    }
    let mut ranges: Vec<FieldRange> = Vec::new();
    for value in values {
        match ranges.last_mut() {
            Some(range) if range.end + 1 == value => range.end = value,
            _ => ranges.push(FieldRange::single(value)),
        }
    }
    ranges
}
