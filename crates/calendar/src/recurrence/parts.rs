//! The parts of a rule, `NAME=value` joined by `;`, before their values are read.

use super::Recurrence;
use super::date_time::Moment;
use crate::error::{Fault, nearest};

/// The parts of one rule: no name twice, none unknown.
pub(super) struct Parts<'t> {
    rule: &'t str,
    found: Vec<Part<'t>>,
}

/// `BYHOUR=9,17`.
#[derive(Clone, Copy)]
pub(super) struct Part<'t> {
    pub(super) name: Name,
    /// Name and value.
    pub(super) text: &'t str,
    pub(super) value: &'t str,
}

/// The parts that RFC 5545 knows, in the order of its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Freq,
    Until,
    Count,
    Interval,
    BySecond,
    ByMinute,
    ByHour,
    ByDay,
    ByMonthDay,
    ByYearDay,
    ByWeekNo,
    ByMonth,
    BySetPos,
    Wkst,
}

impl<'t> Parts<'t> {
    pub(super) fn split(rule: &'t str) -> Result<Self, Fault<'t>> {
        let mut parts = Parts { rule, found: Vec::new() };
        for text in rule.split(';') {
            let part = Part::read(text)?;
            if parts.get(part.name).is_some() {
                return Err(Fault::new(text, format!("{} is given twice", part.name.text()))
                    .help(part.name.help_on_repetition()));
            }
            parts.found.push(part);
        }
        Ok(parts)
    }

    /// Reads the values. `start` is `DTSTART`.
    pub(super) fn read(&self, start: Option<Moment<'t>>) -> Result<Recurrence, Fault<'t>> {
        super::rule::read(self, start)
    }

    pub(super) fn get(&self, name: Name) -> Option<Part<'t>> {
        self.found.iter().find(|part| part.name == name).copied()
    }

    /// Whether there is a `BYxxx` part for `BYSETPOS` to choose from.
    pub(super) fn any_by_part(&self) -> bool {
        self.found.iter().any(|part| part.name.is_by_part())
    }

    /// The whole rule, as it was written.
    pub(super) fn rule(&self) -> &'t str {
        self.rule
    }
}

impl<'t> Part<'t> {
    fn read(text: &'t str) -> Result<Self, Fault<'t>> {
        if text.is_empty() {
            return Err(Fault::new(text, "a part of the rule is empty").help("remove the ;"));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let Some(known) = Name::ALL.into_iter().find(|n| n.text().eq_ignore_ascii_case(name))
        else {
            return Err(unknown(name));
        };
        let name = known.text();
        match value {
            None | Some("") => Err(Fault::new(text, format!("{name} has no value"))
                .help(format!("write {name}={}", known.example()))),
            Some(value) => Ok(Part { name: known, text, value }),
        }
    }
}

impl Name {
    const ALL: [Name; 14] = [
        Name::Freq,
        Name::Until,
        Name::Count,
        Name::Interval,
        Name::BySecond,
        Name::ByMinute,
        Name::ByHour,
        Name::ByDay,
        Name::ByMonthDay,
        Name::ByYearDay,
        Name::ByWeekNo,
        Name::ByMonth,
        Name::BySetPos,
        Name::Wkst,
    ];

    pub(super) fn text(self) -> &'static str {
        match self {
            Name::Freq => "FREQ",
            Name::Until => "UNTIL",
            Name::Count => "COUNT",
            Name::Interval => "INTERVAL",
            Name::BySecond => "BYSECOND",
            Name::ByMinute => "BYMINUTE",
            Name::ByHour => "BYHOUR",
            Name::ByDay => "BYDAY",
            Name::ByMonthDay => "BYMONTHDAY",
            Name::ByYearDay => "BYYEARDAY",
            Name::ByWeekNo => "BYWEEKNO",
            Name::ByMonth => "BYMONTH",
            Name::BySetPos => "BYSETPOS",
            Name::Wkst => "WKST",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Name::Freq => "DAILY",
            Name::Until => "20261224T090000",
            Name::Count => "10",
            Name::Interval => "2",
            Name::BySecond | Name::ByMinute => "0,30",
            Name::ByHour => "9,17",
            Name::ByDay => "MO,WE",
            Name::ByMonthDay => "1,-1",
            Name::ByYearDay => "1,-1",
            Name::ByWeekNo => "20",
            Name::ByMonth => "6,7",
            Name::BySetPos => "-1",
            Name::Wkst => "SU",
        }
    }

    /// Whether it selects times within a period. `BYSETPOS` then selects from those.
    fn is_by_part(self) -> bool {
        match self {
            Name::BySecond
            | Name::ByMinute
            | Name::ByHour
            | Name::ByDay
            | Name::ByMonthDay
            | Name::ByYearDay
            | Name::ByWeekNo
            | Name::ByMonth => true,
            Name::Freq
            | Name::Until
            | Name::Count
            | Name::Interval
            | Name::BySetPos
            | Name::Wkst => false,
        }
    }

    fn help_on_repetition(self) -> String {
        if self.is_by_part() || self == Name::BySetPos {
            format!("write one list: {}={}", self.text(), self.example())
        } else {
            "keep one".to_owned()
        }
    }
}

fn unknown(name: &str) -> Fault<'_> {
    let fault = Fault::new(name, format!("a rule has no part {name:?}"));
    if name.eq_ignore_ascii_case("DTSTART") {
        return fault.help("write it before the rule: DTSTART:20260105T090000 RRULE:FREQ=…");
    }
    let known = Name::ALL.map(Name::text);
    match nearest(name, known.into_iter()) {
        Some(near) => fault.help(format!("did you mean {near}?")),
        None => fault.help(format!("the parts are {}", known.join(", "))),
    }
}
