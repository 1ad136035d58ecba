//! Parses all notations of specs into a [`Definition`].

mod calendar_json;
mod classic;
mod dbos;
pub(crate) mod duration;
mod field;
mod fields;
mod mistakes;
mod settings;
pub(crate) mod temporal;

pub use fields::FieldTexts;
pub use mistakes::likely_mistakes;

use std::str::FromStr;

use crate::definition::{Calendar, Definition, Interval, ZoneSource};
use crate::dst::{DstPolicy, OnGap, OnRepeat};
use crate::error::{Error, Fault, ParseError};
use crate::recurrence::{self, Recurrence};
use crate::repeat::{self, Repeat};
use crate::zone::NAME_BYTES_MAX;
use settings::Settings;

/// Maximum length of the text of one part.
const TEXT_BYTES_MAX: usize = 10_000;

/// The dialect of cron strings. A string can choose its own with a leading `DIALECT=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// As Temporal's schedules read them: 5 fields; a sixth is the year; seven begin with the
    /// second and end with the year. Day of month AND day of week must match. `L`, `W` and `#` are
    /// ours.
    #[default]
    Temporal,
    /// As DBOS reads them: 5 fields, or 6 beginning with the second; a `/divisor` after the whole
    /// list keeps the values divisible by it.
    Dbos,
    /// As a workflow's own Cron Schedule reads them (robfig/cron v3): 5 fields; when both day
    /// fields are restricted, one match is enough.
    Classic,
}

/// The content of one text, without its settings.
enum Piece {
    Cron(Vec<Calendar>),
    Calendar(Calendar),
    Interval(Interval),
    Repeat(Repeat),
    Recurrence(Recurrence),
}

impl Definition {
    /// Reads the union of several texts, each a cron string, `@every`, an interval (`5h/15m`), an
    /// ISO 8601 duration or repeating interval, calendar JSON, or a recurrence rule.
    ///
    /// Settings before a part apply to the whole spec: the time zone (`CRON_TZ=`, `TZ=`), the DST
    /// policy (`DST=`) and named calendars to exclude (`EXCLUDE=`). As in Temporal, the cron strings of
    /// one spec all name the same zone, or none does. A zone before an interval has no effect, because
    /// intervals don't depend on local time.
    ///
    /// ```
    /// use perennial_calendar::{Definition, Dialect};
    ///
    /// let error = Definition::read(&["0 24 * * *"], Dialect::Temporal).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "hour 24 is out of range 0–23; midnight is 0\n  0 24 * * *\n    ^^"
    /// );
    /// ```
    pub fn read(texts: &[&str], dialect: Dialect) -> Result<Definition, Error> {
        let mut definition = Definition::default();
        // The zone that the cron strings agree on, once one of them has been read.
        let mut agreed_zone: Option<Option<&str>> = None;
        for text in texts {
            let (settings, piece) = read_one(text, dialect)?;
            if let Piece::Cron(_) = piece {
                match agreed_zone {
                    Some(zone) if !same_zone(zone, settings.zone) => {
                        return Err(conflict("time zone", zone, settings.zone));
                    }
                    _ => agreed_zone = Some(settings.zone),
                }
            }
            definition.take_settings(&settings)?;
            match piece {
                Piece::Cron(calendars) => definition.calendars.extend(calendars),
                Piece::Calendar(calendar) => definition.calendars.push(calendar),
                Piece::Interval(interval) => definition.intervals.push(interval),
                Piece::Repeat(repeat) => definition.repeats.push(repeat),
                Piece::Recurrence(rule) => definition.recurrences.push(rule),
            }
        }
        Ok(definition)
    }

    /// Adds an exclusion: a cron string or calendar JSON. Note that hour, minute and second of a
    /// calendar default to 0: to leave out a whole day, say `*` for each.
    pub fn exclude(&mut self, text: &str, dialect: Dialect) -> Result<(), Error> {
        let (settings, piece) = read_one(text, dialect)?;
        let calendars = match piece {
            Piece::Cron(calendars) => calendars,
            Piece::Calendar(calendar) => vec![calendar],
            Piece::Interval(_) | Piece::Repeat(_) | Piece::Recurrence(_) => {
                let fault = Fault::new(text, "an exclusion must be a calendar")
                    .help("write a cron string or calendar JSON; a whole day is `* * * 25 12 * *`");
                return Err(fault.in_text(text).into());
            }
        };
        if settings.dst.is_some() || !settings.exclude.is_empty() {
            let fault = Fault::new(text, "DST= and EXCLUDE= do not belong in an exclusion")
                .help("write them before a part of the spec");
            return Err(fault.in_text(text).into());
        }
        let known = match &self.zone {
            ZoneSource::Default => None,
            ZoneSource::Name(name) | ZoneSource::Tzif { name, .. } => Some(name.as_str()),
        };
        // An exclusion must not change the time zone of the parts.
        if settings.zone.is_some() && !same_zone(known, settings.zone) {
            return Err(conflict("time zone", known, settings.zone));
        }
        self.exclusions.extend(calendars);
        Ok(())
    }

    /// Sets the zone, which must not contradict one that a part has named.
    pub fn set_zone(&mut self, name: &str) -> Result<(), Error> {
        if name.len() > NAME_BYTES_MAX {
            let problem = format!("has {} bytes; at most {NAME_BYTES_MAX} are read", name.len());
            return Err(Error::Invalid { field: "the name of the time zone".to_owned(), problem });
        }
        match &self.zone {
            ZoneSource::Default => self.zone = ZoneSource::Name(name.to_owned()),
            // Names of zones are the same in any case.
            ZoneSource::Name(known) if known.eq_ignore_ascii_case(name) => {}
            ZoneSource::Name(known) | ZoneSource::Tzif { name: known, .. } => {
                return Err(conflict("time zone", Some(known), Some(name)));
            }
        }
        Ok(())
    }

    /// Sets the DST policy, which must not contradict one that a part has named.
    pub fn set_dst(&mut self, policy: DstPolicy) -> Result<(), Error> {
        match self.dst {
            Some(known) if known != policy => Err(Error::Conflict {
                what: "DST policy",
                first: known.to_string(),
                second: policy.to_string(),
            }),
            _ => {
                self.dst = Some(policy);
                Ok(())
            }
        }
    }

    fn take_settings(&mut self, settings: &Settings<'_>) -> Result<(), Error> {
        if let Some(zone) = settings.zone {
            self.set_zone(zone)?;
        }
        if let Some(policy) = settings.dst {
            self.set_dst(policy)?;
        }
        for name in &settings.exclude {
            if !self.excluded_calendars.iter().any(|known| known == name) {
                self.excluded_calendars.push((*name).to_owned());
            }
        }
        Ok(())
    }
}

fn same_zone(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        (one, other) => one == other,
    }
}

fn conflict(what: &'static str, first: Option<&str>, second: Option<&str>) -> Error {
    let say = |zone: Option<&str>| zone.unwrap_or("none").to_owned();
    Error::Conflict { what, first: say(first), second: say(second) }
}

fn read_one(text: &str, dialect: Dialect) -> Result<(Settings<'_>, Piece), ParseError> {
    check_length(text)?;
    read_pieces(text, dialect).map_err(|fault| fault.in_text(text))
}

/// Rejects a text that is too long, before parsing it.
fn check_length(text: &str) -> Result<(), ParseError> {
    if text.len() > TEXT_BYTES_MAX {
        let message =
            format!("the text has {} bytes; at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(Fault::new(&text[..0], message).in_text(text));
    }
    Ok(())
}

fn read_pieces(text: &str, dialect: Dialect) -> Result<(Settings<'_>, Piece), Fault<'_>> {
    let (mut settings, body) = settings::split(text)?;
    let dialect = settings.dialect.unwrap_or(dialect);
    let piece = if body.is_empty() {
        return Err(Fault::new(body, "there is no time expression")
            .help("write a cron string such as `0 9 * * MON-FRI`, or an interval such as `30m`"));
    } else if body.starts_with('{') {
        Piece::Calendar(calendar_json::parse(body)?)
    } else if repeat::looks_like(body) {
        let (repeat, zone) = repeat::parse(body)?;
        settings.agree_on_zone(zone)?;
        Piece::Repeat(repeat)
    } else if looks_like_recurrence(body) {
        let (rule, zone) = recurrence::parse(body)?;
        settings.agree_on_zone(zone)?;
        Piece::Recurrence(rule)
    } else if let Some(every) = body.strip_prefix("@every") {
        // Temporal drops what follows a `#` here too.
        let every = every.split('#').next().unwrap_or_default();
        Piece::Interval(duration::parse_interval(every)?)
    } else if looks_like_interval(body) {
        Piece::Interval(duration::parse_interval(body)?)
    } else {
        Piece::Cron(match dialect {
            Dialect::Temporal => vec![temporal::parse(body)?],
            Dialect::Dbos => vec![dbos::parse(body)?],
            Dialect::Classic => classic::parse(body)?,
        })
    };
    // The zone has no effect on an interval, and must not change the zone of the other parts.
    if let Piece::Interval(_) = piece {
        settings.zone = None;
    }
    Ok((settings, piece))
}

fn looks_like_recurrence(body: &str) -> bool {
    ["RRULE", "DTSTART", "FREQ=", "EXDATE", "RDATE", "EXRULE"]
        .iter()
        .any(|word| body.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
}

/// One word that begins like a duration (crons have at least five), or a length in words: `5 hours`.
fn looks_like_interval(body: &str) -> bool {
    let one_word = !body.contains(char::is_whitespace);
    (one_word || body.parse::<jiff::Span>().is_ok())
        && body
            .starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'P' | 'p' | '-' | '+' | '.'))
}

/// The five fields that `@daily` and similar names stand for, the same in every dialect.
fn predefined(body: &str) -> Result<Option<&'static str>, Fault<'_>> {
    const NAMES: [(&str, &str); 7] = [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ];
    if !body.starts_with('@') {
        return Ok(None);
    }
    match NAMES.iter().find(|(name, _)| *name == body) {
        Some((_, fields)) => Ok(Some(fields)),
        None => {
            let known = NAMES.iter().map(|(name, _)| *name).chain(["@every"]);
            let fault = Fault::new(body, format!("{body} is not a predefined schedule"));
            Err(match crate::error::nearest(body, known) {
                Some(name) => fault.help(format!("did you mean {name}?")),
                None => fault.help(
                    "there are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly \
                     and @every <duration>",
                ),
            })
        }
    }
}

impl FromStr for Dialect {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        settings::dialect(text).map_err(|fault| fault.in_text(text))
    }
}

impl FromStr for DstPolicy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        dst_policy(text).map_err(|fault| fault.in_text(text))
    }
}

fn dst_policy(text: &str) -> Result<DstPolicy, Fault<'_>> {
    const HELP: &str = "write literal, once, or a gap rule (skip, shift) and a repeat rule (first, \
                        last, both) such as shift,last";
    match text {
        "literal" => return Ok(DstPolicy::LITERAL),
        "once" => return Ok(DstPolicy::ONCE),
        _ => {}
    }
    let Some((gap, repeat)) = text.split_once(',') else {
        return Err(Fault::new(text, format!("{text:?} is not a DST policy")).help(HELP));
    };
    let gap = match gap {
        "skip" => OnGap::Skip,
        "shift" => OnGap::Shift,
        _ => {
            return Err(Fault::new(gap, format!("{gap:?} is not a rule for gaps")).help(HELP));
        }
    };
    let repeat = match repeat {
        "first" => OnRepeat::First,
        "last" => OnRepeat::Last,
        "both" => OnRepeat::Both,
        _ => {
            let message = format!("{repeat:?} is not a rule for repeated times");
            return Err(Fault::new(repeat, message).help(HELP));
        }
    };
    Ok(DstPolicy { gap, repeat })
}
