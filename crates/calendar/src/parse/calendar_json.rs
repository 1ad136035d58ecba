//! Calendars as JSON with named fields: `{"dayOfWeek":"Fri","hour":"11"}`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::field::Field;
use super::fields::with_defaults;
use super::temporal;
use crate::definition::Calendar;
use crate::error::Fault;

/// Reads the object. hour, minute and second default to 0, the others to `*`.
pub(super) fn parse(text: &str) -> Result<Calendar, Fault<'_>> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|error| {
        let at = position(text, error.line(), error.column());
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default().to_owned();
        Fault::new(at, format!("the calendar is not a JSON object of strings: {why}"))
            .help(r#"write it like {"dayOfWeek":"Fri","hour":"11"}"#)
    })?;
    let mut calendar = with_defaults();
    for (name, value) in &members {
        let raw = value.get();
        let field = match name.as_str() {
            "second" => Field::Second,
            "minute" => Field::Minute,
            "hour" => Field::Hour,
            "dayOfMonth" => Field::DayOfMonth,
            "month" => Field::Month,
            "dayOfWeek" => Field::DayOfWeek,
            "year" => Field::Year,
            "comment" => {
                let comment: String = serde_json::from_str(raw)
                    .map_err(|_| Fault::new(raw, "the comment is not a string"))?;
                calendar.comment = comment.trim().to_owned();
                continue;
            }
            _ => return Err(unknown_field(text, name, raw)),
        };
        let text = field_text(field, raw)?;
        if !text.is_empty() {
            temporal::set(&mut calendar, field, text)?;
        }
    }
    Ok(calendar)
}

/// The text between the quotes, or a bare number.
fn field_text(field: Field, raw: &str) -> Result<&str, Fault<'_>> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    match inner {
        // No field needs an escape.
        Some(inner) if !inner.contains('\\') => Ok(inner.trim()),
        None if raw.bytes().all(|b| b.is_ascii_digit()) => Ok(raw),
        _ => Err(Fault::new(raw, format!("the {} is not a string", field.name()))
            .help(r#"write it like "1,15" or "9-17""#)),
    }
}

fn unknown_field<'t>(text: &'t str, name: &str, raw: &'t str) -> Fault<'t> {
    const KNOWN: [&str; 8] =
        ["year", "month", "dayOfMonth", "dayOfWeek", "hour", "minute", "second", "comment"];
    // The key stands before its value, unless it was written with escapes.
    let value_at = raw.as_ptr() as usize - text.as_ptr() as usize;
    let key_at = text[..value_at].rfind(name).map(|at| &text[at..at + name.len()]);
    let fault = Fault::new(key_at.unwrap_or(raw), format!("{name:?} is not a field of a calendar"));
    match crate::error::nearest(name, KNOWN.into_iter()) {
        Some(known) => fault.help(format!("did you mean {known}?")),
        None => fault.help(format!("there are {}", KNOWN.join(", "))),
    }
}

/// The character at a 1-based line and column (in bytes), as serde_json counts them.
fn position(text: &str, line: usize, column: usize) -> &str {
    let line_start: usize =
        text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (line_start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    &text[at..end]
}
