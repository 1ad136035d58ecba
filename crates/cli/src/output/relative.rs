//! Distances between times, in their two largest units.

use jiff::{Unit, Zoned};

/// `2 d 3 h`, `1 y 2 mo`, `45 s`: from one time to a later one, in the time zone of the later.
pub(crate) fn distance(from: &Zoned, to: &Zoned) -> String {
    let from = from.with_time_zone(to.time_zone().clone());
    let Ok(span) = from.until((Unit::Year, to)) else { return String::new() };
    let units: [(i64, &str); 6] = [
        (span.get_years().into(), "y"),
        (span.get_months().into(), "mo"),
        (span.get_days().into(), "d"),
        (span.get_hours().into(), "h"),
        (span.get_minutes(), "min"),
        (span.get_seconds(), "s"),
    ];
    let Some(largest) = units.iter().position(|(count, _)| *count != 0) else {
        return "0 s".to_owned();
    };
    let shown = units.iter().skip(largest).take(2).filter(|(count, _)| *count != 0);
    shown.map(|(count, unit)| format!("{count} {unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, to: &str, expected: &str) {
        assert_eq!(distance(&from.parse().unwrap(), &to.parse().unwrap()), expected);
    }

    #[test]
    fn shows_the_two_largest_units() {
        check("2026-11-15T12:00[UTC]", "2026-11-15T12:00:45[UTC]", "45 s");
        check("2026-11-15T12:00[UTC]", "2026-11-17T15:20:01[UTC]", "2 d 3 h");
        check("2026-11-15T12:00[UTC]", "2026-11-17T12:20:01[UTC]", "2 d");
        check("2026-11-15T12:00[UTC]", "2028-01-15T12:20:01[UTC]", "1 y 2 mo");
        check("2026-11-15T12:00[UTC]", "2026-11-15T12:00[UTC]", "0 s");
        check("2026-11-15T12:00[UTC]", "2026-11-15T12:00:00.5[UTC]", "0 s");
    }

    #[test]
    fn a_day_is_a_day_on_the_clock_even_when_it_has_25_hours() {
        check("2026-10-24T22:00[UTC]", "2026-10-26T00:00[Europe/Oslo]", "1 d");
    }
}
