//! Formats the age of a task, as Temporal's command line does.

use perennial_proto::Duration;

/// `3m 19.5s`, `2d 1h 0m 0s`, `1.5ms`, `0s`.
pub(super) fn age(length: Option<&Duration>) -> String {
    let length = length.copied().unwrap_or_default();
    let nanos = u64::try_from(length.nanos).unwrap_or_default();
    let total = u64::try_from(length.seconds).unwrap_or_default();
    match (total, nanos) {
        (0, 0) => "0s".to_owned(),
        (0, 1..1_000) => format!("{nanos}ns"),
        (0, 1_000..1_000_000) => fraction(nanos, 1_000) + "µs",
        (0, _) => fraction(nanos, 1_000_000) + "ms",
        (..60, _) => seconds(total, nanos),
        (..3_600, _) => format!("{}m {}", total / 60, seconds(total % 60, nanos)),
        (..86_400, _) => hours(total, nanos),
        _ => format!("{}d {}", total / 86_400, hours(total % 86_400, nanos)),
    }
}

fn hours(total: u64, nanos: u64) -> String {
    format!("{}h {}m {}", total / 3_600, total / 60 % 60, seconds(total % 60, nanos))
}

fn seconds(seconds: u64, nanos: u64) -> String {
    fraction(seconds * 1_000_000_000 + nanos, 1_000_000_000) + "s"
}

/// A number of units, with as many decimals as needed.
fn fraction(nanos: u64, unit: u64) -> String {
    let (whole, rest) = (nanos / unit, nanos % unit);
    let digits = format!("{rest:0width$}", width = unit.ilog10() as usize);
    match digits.trim_end_matches('0') {
        "" => whole.to_string(),
        digits => format!("{whole}.{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_written_as_temporal_writes_them() {
        let check = |seconds, nanos, expected| {
            assert_eq!(age(Some(&Duration { seconds, nanos })), expected);
        };
        check(0, 0, "0s");
        check(0, 1_500_000, "1.5ms");
        check(0, 20_000, "20µs");
        check(0, 7, "7ns");
        check(199, 896_936_971, "3m 19.896936971s");
        check(60, 0, "1m 0s");
        check(3_600, 50_000_000, "1h 0m 0.05s");
        check(176_400, 0, "2d 1h 0m 0s");
        assert_eq!(age(None), "0s");
    }
}
