//! Parses a rule: finds the lines `DTSTART` and `RRULE`.

use jiff::civil::DateTime;

use super::Recurrence;
use super::date_time::Moment;
use super::parts::Parts;
use crate::error::Fault;

/// Reads `RRULE:FREQ=…` or `FREQ=…`, and `DTSTART…:…` before or after it. Lines may also be
/// separated by blanks.
///
/// Also returns the zone that `DTSTART` names, which is the whole spec's and not kept in the rule:
/// the value of `TZID`, or the `Z` that stands for UTC.
pub(crate) fn parse<'t>(text: &'t str) -> Result<(Recurrence, Option<&'t str>), Fault<'t>> {
    let mut start: Option<Start<'t>> = None;
    let mut rule: Option<Parts<'t>> = None;
    for line in lines(text) {
        match Line::read(line)? {
            Line::Start { parameters, value } => {
                if start.is_some() {
                    return Err(Fault::new(line, "DTSTART is given twice").help("keep one"));
                }
                start = Some(Start::read(parameters, value)?);
            }
            Line::Rule(_) if rule.is_some() => return Err(second_rule(line)),
            Line::Rule(value) => rule = Some(Parts::split(value)?),
        }
    }
    let Some(rule) = rule else {
        return Err(Fault::new(text, "there is no recurrence rule")
            .help("write one like RRULE:FREQ=WEEKLY;BYDAY=MO,WE"));
    };
    let recurrence = rule.read(start.as_ref().map(|start| start.moment))?;
    Ok((recurrence, start.and_then(|start| start.zone)))
}

/// Blanks and line breaks separate, except within quotes.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c: char| {
        quoted ^= c == '"';
        !quoted && c.is_ascii_whitespace()
    })
    .filter(|line| !line.is_empty())
}

enum Line<'t> {
    Start { parameters: &'t str, value: &'t str },
    Rule(&'t str),
}

impl<'t> Line<'t> {
    fn read(line: &'t str) -> Result<Self, Fault<'t>> {
        let Some((head, value)) = split_once_unquoted(line, ':') else {
            return if line.contains('=') {
                Ok(Line::Rule(line))
            } else {
                Err(Fault::new(line, format!("{line:?} is not a recurrence rule"))
                    .help("write one like RRULE:FREQ=WEEKLY;BYDAY=MO,WE"))
            };
        };
        let (name, parameters) = match split_once_unquoted(head, ';') {
            Some((name, parameters)) => (name, parameters),
            None => (head, &head[head.len()..]),
        };
        match name.to_ascii_uppercase().as_str() {
            "DTSTART" => Ok(Line::Start { parameters, value }),
            "RRULE" if parameters.is_empty() => Ok(Line::Rule(value)),
            "RRULE" => Err(Fault::new(parameters, "RRULE takes no parameters")
                .help("write RRULE: and the rule")),
            "EXDATE" | "EXRULE" => Err(Fault::new(name, format!("{name} is not supported"))
                .help("use an exclusion of the spec instead")),
            "RDATE" => Err(Fault::new(name, "RDATE is not supported").help(
                "add the date to the spec as a calendar; to leave one out, use an exclusion",
            )),
            _ => Err(Fault::new(name, format!("{name:?} is neither DTSTART nor RRULE"))
                .help("a rule has no other lines")),
        }
    }
}

fn second_rule(line: &str) -> Fault<'_> {
    if line.to_ascii_uppercase().contains("FREQ=") {
        Fault::new(line, "this is a second rule").help("give each rule as a spec of its own")
    } else {
        Fault::new(line, "this stands apart from its rule")
            .help("join the parts of a rule with ; and no blanks or line breaks")
    }
}

/// The content of a `DTSTART` line.
struct Start<'t> {
    moment: Moment<'t>,
    zone: Option<&'t str>,
}

impl<'t> Start<'t> {
    fn read(parameters: &'t str, value: &'t str) -> Result<Self, Fault<'t>> {
        let parameters = StartParameters::read(parameters)?;
        let moment = Moment::read("DTSTART", value)?;
        check_year(moment.wall(), value)?;
        let zone = match (moment, parameters.zone) {
            (Moment::Utc(_, z), Some(_)) => {
                return Err(Fault::new(z, "DTSTART has both a TZID and a Z, which is UTC")
                    .help("remove one of them"));
            }
            (Moment::Utc(_, z), None) => Some(z),
            (Moment::Date(_) | Moment::Local(_), zone) => zone,
        };
        if parameters.only_date && !matches!(moment, Moment::Date(_)) {
            return Err(Fault::new(value, "VALUE=DATE is for a date without a time")
                .help(format!("write {}, or remove VALUE=DATE", &value[..8])));
        }
        Ok(Start { moment, zone })
    }
}

fn check_year(start: DateTime, at: &str) -> Result<(), Fault<'_>> {
    match start.year() {
        1970..=2100 => Ok(()),
        year if year < 1970 => Err(Fault::new(at, format!("DTSTART is in {year}, before 1970"))
            .help("start in 1970 or later")),
        year => Err(Fault::new(at, format!("DTSTART is in {year}, after 2100"))
            .help("start in 2100 or earlier: there are no times after it")),
    }
}

#[derive(Default)]
struct StartParameters<'t> {
    zone: Option<&'t str>,
    only_date: bool,
}

impl<'t> StartParameters<'t> {
    fn read(text: &'t str) -> Result<Self, Fault<'t>> {
        let mut found = StartParameters::default();
        let mut value_type = None;
        let mut rest = (!text.is_empty()).then_some(text);
        while let Some(text) = rest {
            let (parameter, later) = match split_once_unquoted(text, ';') {
                Some((parameter, later)) => (parameter, Some(later)),
                None => (text, None),
            };
            rest = later;
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let given_before = match name.to_ascii_uppercase().as_str() {
                "TZID" => found.zone.replace(zone_name(parameter, value)?).is_some(),
                "VALUE" => value_type.replace(value).is_some(),
                _ => {
                    return Err(Fault::new(
                        parameter,
                        format!("DTSTART has no parameter {name:?}"),
                    )
                    .help("it takes TZID=Area/City and VALUE=DATE"));
                }
            };
            if given_before {
                return Err(
                    Fault::new(parameter, format!("{name} is given twice")).help("keep one")
                );
            }
        }
        if let Some(value) = value_type {
            found.only_date = value.eq_ignore_ascii_case("DATE");
            if !found.only_date && !value.eq_ignore_ascii_case("DATE-TIME") {
                return Err(Fault::new(value, format!("VALUE {value:?} is not DATE or DATE-TIME"))
                    .help("write VALUE=DATE, or leave it out"));
            }
        }
        Ok(found)
    }
}

fn zone_name<'t>(parameter: &'t str, value: &'t str) -> Result<&'t str, Fault<'t>> {
    let name = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
    if name.is_empty() {
        return Err(Fault::new(parameter, "TZID names no time zone")
            .help("write one like TZID=America/New_York"));
    }
    Ok(name)
}

fn split_once_unquoted(text: &str, separator: char) -> Option<(&str, &str)> {
    let mut quoted = false;
    let at = text.find(|c: char| {
        quoted ^= c == '"';
        !quoted && c == separator
    })?;
    Some((&text[..at], &text[at + separator.len_utf8()..]))
}
