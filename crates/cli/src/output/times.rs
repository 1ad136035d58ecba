//! Formats times and durations for people.

use jiff::fmt::friendly::{Spacing, SpanPrinter};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::format::TimeFormat;
use super::relative;

/// Durations in the form users type: `1h30m`.
const DURATION: SpanPrinter = SpanPrinter::new().spacing(Spacing::None);

/// Formats times in a time zone, relative to `now`.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) zone: TimeZone,
    pub(crate) now: Timestamp,
    pub(crate) format: TimeFormat,
}

impl Times {
    /// In the local time zone: that of `TZ`, or of the machine.
    pub(crate) fn here(format: TimeFormat) -> Self {
        Times { zone: TimeZone::system(), now: Timestamp::now(), format }
    }

    /// The time in the format of `--time-format`; empty for `None`.
    pub(crate) fn show(&self, time: Option<Timestamp>) -> String {
        let Some(time) = time else { return String::new() };
        match self.format {
            TimeFormat::Full => {
                // Fractions of a second would only distract from the distance.
                let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
                format!("{} ({})", self.clock(whole), self.distance(time))
            }
            TimeFormat::Relative => self.distance(time),
            TimeFormat::Iso => time.to_string(),
        }
    }

    /// The local time: `2026-11-16 10:00:00 +01:00`.
    pub(crate) fn clock(&self, time: Timestamp) -> String {
        self.clock_in(time, &self.zone)
    }

    /// The time in another time zone.
    pub(crate) fn clock_in(&self, time: Timestamp, zone: &TimeZone) -> String {
        match self.format {
            TimeFormat::Full | TimeFormat::Relative => clock(time, zone),
            TimeFormat::Iso => time.to_string(),
        }
    }

    /// The time with the local time zone.
    pub(crate) fn at(&self, time: Timestamp) -> Zoned {
        Zoned::new(time, self.zone.clone())
    }

    /// `in 3 h`, `2 d ago`.
    pub(crate) fn distance(&self, time: Timestamp) -> String {
        let (time, now) = (self.at(time), self.at(self.now));
        if time.timestamp().duration_since(now.timestamp()).abs().as_secs() == 0 {
            return "now".to_owned();
        }
        match time > now {
            true => format!("in {}", relative::distance(&now, &time)),
            false => format!("{} ago", relative::distance(&time, &now)),
        }
    }

    /// The name of the local time zone.
    pub(crate) fn zone_name(&self) -> &str {
        match is_utc(&self.zone) {
            true => "UTC",
            false => self.zone.iana_name().unwrap_or("local time"),
        }
    }
}

/// The time in a zone, in whole seconds unless there is a fraction.
fn clock(time: Timestamp, zone: &TimeZone) -> String {
    let zoned = Zoned::new(time, zone.clone());
    let shown = zoned.strftime(match zoned.subsec_nanosecond() {
        0 => "%Y-%m-%d %H:%M:%S",
        _ => "%Y-%m-%d %H:%M:%S%.3f",
    });
    match is_utc(zone) {
        true => format!("{shown} UTC"),
        false => format!("{shown} {}", zoned.strftime("%:z")),
    }
}

/// Whether the zone is UTC, under any of its names.
fn is_utc(zone: &TimeZone) -> bool {
    zone == &TimeZone::UTC || matches!(zone.iana_name(), Some("UTC" | "Etc/UTC" | "Etc/UCT"))
}

/// Converts a protobuf timestamp; `None` if it is missing or out of range.
pub(crate) fn instant(time: Option<&perennial_proto::Timestamp>) -> Option<Timestamp> {
    let time = time?;
    Timestamp::new(time.seconds, time.nanos).ok()
}

/// Converts to a protobuf timestamp.
pub(crate) fn stamp(time: Timestamp) -> perennial_proto::Timestamp {
    perennial_proto::Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() }
}

/// Serialises a time as protobuf's JSON does.
pub(crate) fn serialize_instant<S: serde::Serializer>(
    time: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(time),
        None => serializer.serialize_none(),
    }
}

/// Formats a duration: `1h30m`, `0s`; empty for `None`.
pub(crate) fn duration(length: Option<&perennial_proto::Duration>) -> String {
    let Some(length) = length else { return String::new() };
    let (days, rest) = (length.seconds / 86_400, length.seconds % 86_400);
    let rest = SignedDuration::new(rest, length.nanos);
    match (days, rest.is_zero()) {
        (0, _) => DURATION.duration_to_string(&rest),
        (_, true) => format!("{days}d"),
        (_, false) => format!("{days}d{}", DURATION.duration_to_string(&rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_oslo(format: TimeFormat) -> Times {
        let zone = jiff::tz::TimeZoneDatabase::bundled().get("Europe/Oslo").unwrap();
        Times { zone, now: "2026-11-16T09:00:00Z".parse().unwrap(), format }
    }

    #[test]
    fn a_time_is_shown_on_the_clock_here_with_its_distance() {
        let time = Some("2026-11-16T12:30:00Z".parse().unwrap());
        let shown = in_oslo(TimeFormat::Full).show(time);
        assert_eq!(shown, "2026-11-16 13:30:00 +01:00 (in 3 h 30 min)");
        assert_eq!(in_oslo(TimeFormat::Relative).show(time), "in 3 h 30 min");
        assert_eq!(in_oslo(TimeFormat::Iso).show(time), "2026-11-16T12:30:00Z");
        assert_eq!(in_oslo(TimeFormat::Full).show(None), "");
    }

    #[test]
    fn durations_are_shown_as_they_are_typed() {
        let check = |seconds, nanos, expected| {
            let length = perennial_proto::Duration { seconds, nanos };
            assert_eq!(duration(Some(&length)), expected);
        };
        check(5400, 0, "1h30m");
        check(31_536_000, 0, "365d");
        check(90_000, 0, "1d1h");
        check(0, 0, "0s");
        check(1, 500_000_000, "1s500ms");
    }
}
