//! Finds likely mistakes in valid cron strings.

use super::{Dialect, settings, temporal};
use crate::explain::Warning;

/// Likely mistakes in a valid text. They depend on how the text was written, so the canonical form no longer
/// shows them.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, dialect: Dialect) -> String {
        let told: Vec<String> =
            likely_mistakes(text, dialect).iter().map(ToString::to_string).collect();
        told.join("\n")
    }

    #[test]
    fn a_sixth_field_that_says_nothing_may_be_meant_as_seconds() {
        for text in ["*/5 * * * * *", "0 9 * * * */2", "CRON_TZ=Europe/Oslo 0 9 * * * * # daily"] {
            assert!(
                told(text, Dialect::Temporal).starts_with("the sixth field is the year"),
                "{text}"
            );
        }
        for text in ["0 9 * * * 2027", "DIALECT=dbos */5 * * * * *", "0 */5 * * * * *", "@daily"] {
            assert_eq!(told(text, Dialect::Temporal), "", "{text}");
        }
        assert_eq!(told("*/5 * * * * *", Dialect::Dbos), "");
    }

    #[test]
    fn every_second_or_minute_of_a_fixed_time_is_probably_one_too_many() {
        let seconds =
            "the first field is the second, and * is each of the 60; write 0 for once a minute";
        assert_eq!(told("* 30 9 * * * *", Dialect::Temporal), seconds);
        assert_eq!(told("* 30 9 * * *", Dialect::Dbos), seconds);
        let minutes = "the minute is *: it fires each minute from 09:00 to 09:59; write 0 for once";
        for dialect in [Dialect::Temporal, Dialect::Dbos, Dialect::Classic] {
            assert_eq!(told("* 9 * * *", dialect), minutes);
            assert_eq!(told("* 9-17 * * *", dialect), "");
            assert_eq!(told("* * * * *", dialect), "");
        }
    }

    #[test]
    fn other_forms_have_no_such_mistakes() {
        for text in [
            "{\"hour\": \"9\", \"minute\": \"*\", \"year\": \"*\" }",
            "PT30M",
            "5h/15m",
            "",
            "NOT=a",
        ] {
            assert_eq!(told(text, Dialect::Temporal), "", "{text}");
        }
    }
}
