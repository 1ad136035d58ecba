//! The classic dialect, of a workflow's own cron schedule: the rules of robfig/cron v3.

use super::field::{self, Field, Names};
use crate::definition::{Calendar, FieldRange};
use crate::error::Fault;

/// Reads five fields or a predefined name. When both day fields are restricted a day needs to match
/// only one of them, which is the union of two calendars.
pub(super) fn parse(text: &str) -> Result<Vec<Calendar>, Fault<'_>> {
    let fields = super::predefined(text)?.unwrap_or(text);
    const HELP: &str = "minute, hour, day of month, month, day of week";
    let words = field::words(fields, &[5], HELP)?;
    let [minute, hour, day_of_month, month, day_of_week] = words.as_slice() else {
        return Err(Fault::new(text, "a classic cron string has 5 fields").help(HELP));
    };
    let (day_of_month, any_day_of_month) = parse_field(Field::DayOfMonth, day_of_month)?;
    let (day_of_week, any_day_of_week) = parse_field(Field::DayOfWeek, day_of_week)?;
    let calendar = Calendar {
        second: vec![FieldRange::single(0)],
        minute: parse_field(Field::Minute, minute)?.0,
        hour: parse_field(Field::Hour, hour)?.0,
        month: parse_field(Field::Month, month)?.0,
        day_of_month,
        day_of_week,
        ..Calendar::default()
    };
    if any_day_of_month || any_day_of_week {
        return Ok(vec![calendar]);
    }
    let by_day = Calendar { day_of_week: Field::DayOfWeek.all(), ..calendar.clone() };
    let by_weekday = Calendar { day_of_month: Field::DayOfMonth.all(), ..calendar };
    Ok(vec![by_day, by_weekday])
}

/// The field's ranges, and whether it is unrestricted: `*` or `?`, without a step.
fn parse_field(field: Field, text: &str) -> Result<(Vec<FieldRange>, bool), Fault<'_>> {
    let (min, max) = classic_bounds(field);
    let mut ranges = Vec::with_capacity(1);
    let mut unrestricted = false;
    for item in text.split(',') {
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(field.step(step)?)),
            None => (item, None),
        };
        let star = matches!(base, "*" | "?");
        let (start, mut end) = if star { (min, max) } else { field.span(base, Names::Three)? };
        if end > max {
            return Err(Fault::new(
                base,
                format!("{} {end} is out of range {min}–{max}", field.name()),
            )
            .help("Sunday is 0 in this dialect"));
        }
        if step.is_some() && !base.contains('-') {
            end = max;
        }
        unrestricted |= star && step.unwrap_or(1) == 1;
        ranges.push(FieldRange { start, end, step: step.unwrap_or(1) });
    }
    Ok((ranges, unrestricted))
}

fn classic_bounds(field: Field) -> (u16, u16) {
    match field {
        Field::DayOfWeek => (0, 6),
        other => other.bounds(),
    }
}
