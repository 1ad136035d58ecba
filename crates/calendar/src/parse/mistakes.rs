//! Cron strings that can be read, but probably don't mean what their author thinks.

use super::{Dialect, settings, temporal};
use crate::explain::Warning;

/// What the author of a text probably mistook. The text has been [read](crate::Definition::read) without an error.
///
/// The canonical form doesn't show these mistakes any more: they are in how the text was written.
///
/// ```
/// use perennial_calendar::{Dialect, likely_mistakes};
///
/// let mistakes = likely_mistakes("*/5 * * * * *", Dialect::Temporal);
/// assert_eq!(
///     mistakes[0].to_string(),
///     "the sixth field is the year; for seconds use seven fields or DIALECT=dbos"
/// );
/// ```
pub fn likely_mistakes(text: &str, dialect: Dialect) -> Vec<Warning> {
    let Ok((settings, rest)) = settings::split(text) else { return Vec::new() };
    let (fields, _) = temporal::split_comment(rest);
    let words: Vec<&str> = fields.split_whitespace().take(8).collect();
    if rest.starts_with('{') {
        return Vec::new();
    }
    let (second, minute, hour) = match (settings.dialect.unwrap_or(dialect), words.as_slice()) {
        (Dialect::Temporal, [_, _, _, _, _, year]) if year.starts_with('*') => {
            return vec![Warning::SixthFieldIsYear];
        }
        (Dialect::Temporal, [minute, hour, _, _, _] | [minute, hour, _, _, _, _])
        | (Dialect::Dbos | Dialect::Classic, [minute, hour, _, _, _]) => ("0", *minute, *hour),
        (Dialect::Temporal, [second, minute, hour, _, _, _, _])
        | (Dialect::Dbos, [second, minute, hour, _, _, _]) => (*second, *minute, *hour),
        (Dialect::Temporal | Dialect::Dbos | Dialect::Classic, _) => return Vec::new(),
    };
    if second == "*" && minute != "*" {
        return vec![Warning::EverySecondOfMinute];
    }
    match hour.parse() {
        Ok(hour @ 0..=23) if second != "*" && minute == "*" => {
            vec![Warning::EveryMinuteOfHour { hour }]
        }
        _ => Vec::new(),
    }
}
