//! Parses times: exact, or in the time zone of the spec.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::{Span, Timestamp, Zoned};
use perennial_calendar::Zone;

use crate::failure::Usage;

/// A time argument. Without an offset it becomes an instant only in the spec's time zone. Parsed by clap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InstantText {
    /// A time with an offset or a zone.
    Exact(Timestamp),
    /// A time without an offset, in the spec's time zone.
    Civil(DateTime),
}

/// The end of a window: a time, or a duration from its beginning.
#[derive(Clone, Debug)]
pub(crate) enum EndText {
    At(InstantText),
    /// Added in the spec's time zone: a week or a month later it is the same time of day.
    After(Span),
}

impl FromStr for InstantText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(exact) = text.parse::<Timestamp>() {
            return Ok(InstantText::Exact(exact));
        }
        if let Ok(zoned) = text.parse::<Zoned>() {
            return Ok(InstantText::Exact(zoned.timestamp()));
        }
        let civil = text.parse::<DateTime>().ok().filter(|_| !text.contains(['Z', 'z', '[']));
        civil.map(InstantText::Civil).ok_or_else(|| {
            "not a time; write 2026-11-16T09:00:00Z, 2026-11-16T10:00:00+01:00, or by the spec's \
             clock 2026-11-16T10:00 or 2026-11-16"
                .to_owned()
        })
    }
}

impl InstantText {
    /// The instant in this zone. A time in a gap is moved forward by the length of the gap. Of a time that
    /// occurs twice, the first is taken.
    pub(crate) fn on(&self, zone: &Zone) -> anyhow::Result<Timestamp> {
        match *self {
            InstantText::Exact(instant) => Ok(instant),
            InstantText::Civil(civil) => {
                let rules = zone.at(Timestamp::UNIX_EPOCH).time_zone().clone();
                let zoned = rules.to_zoned(civil);
                Ok(zoned.map_err(|_| Usage::new(format!("{civil} is out of range")))?.timestamp())
            }
        }
    }
}

impl FromStr for EndText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = match text.parse() {
            Ok(instant) => return Ok(EndText::At(instant)),
            Err(error) => error,
        };
        match text.parse() {
            Ok(span) => Ok(EndText::After(span)),
            Err(_) => Err(format!("{error}, or a duration such as 90m, 7d or P1M")),
        }
    }
}

impl EndText {
    /// The instant, for a window that begins at `from`.
    pub(crate) fn on(&self, zone: &Zone, from: Timestamp) -> anyhow::Result<Timestamp> {
        match self {
            EndText::At(instant) => instant.on(zone),
            EndText::After(span) => Ok(zone.at(from).saturating_add(*span).timestamp()),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZoneDatabase;
    use perennial_calendar::Zones;

    use super::*;

    fn in_oslo(text: &str) -> String {
        let zones = Zones::new(TimeZoneDatabase::bundled());
        let from = "2026-11-15T12:00:00Z".parse().unwrap();
        let oslo = zones.get("Europe/Oslo").unwrap();
        match text.parse::<EndText>() {
            Ok(end) => end.on(&oslo, from).unwrap().to_string(),
            Err(error) => error,
        }
    }

    #[test]
    fn a_date_is_midnight_on_the_clock_of_the_spec() {
        assert_eq!(in_oslo("2026-11-15"), "2026-11-14T23:00:00Z");
        assert_eq!(in_oslo("2026-06-15T09:30"), "2026-06-15T07:30:00Z");
    }

    #[test]
    fn an_offset_or_a_zone_makes_a_time_exact() {
        assert_eq!(in_oslo("2026-11-15T09:00:00Z"), "2026-11-15T09:00:00Z");
        assert_eq!(in_oslo("2026-11-15T09:00:00-05:00"), "2026-11-15T14:00:00Z");
        assert_eq!(in_oslo("2026-11-15T09:00[Asia/Tokyo]"), "2026-11-15T00:00:00Z");
    }

    #[test]
    fn civil_times_in_a_gap_move_on_and_repeated_ones_are_the_first() {
        assert_eq!(in_oslo("2026-03-29T02:30"), "2026-03-29T01:30:00Z");
        assert_eq!(in_oslo("2026-10-25T02:30"), "2026-10-25T00:30:00Z");
    }

    #[test]
    fn an_end_may_be_a_duration_from_the_beginning() {
        assert_eq!(in_oslo("2d"), "2026-11-17T12:00:00Z");
        assert_eq!(in_oslo("PT90M"), "2026-11-15T13:30:00Z");
        assert_eq!(in_oslo("P1M"), "2026-12-15T12:00:00Z");
    }

    #[test]
    fn days_and_months_are_those_of_the_clock() {
        assert_eq!(in_oslo("P6M"), "2027-05-15T11:00:00Z");
        assert_eq!(in_oslo("4320h"), "2027-05-14T12:00:00Z");
    }

    #[test]
    fn other_text_says_what_to_write() {
        assert!(in_oslo("tomorrow").starts_with("not a time; write 2026-"));
        assert!(in_oslo("2026-11-15T09:00[Europe/Nowhere]").starts_with("not a time"));
        assert!(in_oslo("2026-13-01").starts_with("not a time"));
        assert!(in_oslo("").starts_with("not a time"));
    }
}
