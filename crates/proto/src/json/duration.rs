//! Reads ISO 8601 durations, in addition to the seconds of protobuf's JSON.

use jiff::{Span, SpanRelativeTo};

use crate::Duration;

/// Reads `PT30M`, `P1D` (24 hours), `P1W` or `PT1.5S`. `None` for months and years, which have no fixed length.
pub(super) fn iso_8601(text: &str) -> Option<Duration> {
    let is_iso = text.trim_start_matches(['+', '-']).starts_with(['P', 'p']);
    let span: Span = text.parse().ok().filter(|_| is_iso)?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Some(Duration { seconds: length.as_secs(), nanos: length.subsec_nanos() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_8601_durations_have_a_fixed_length_or_are_none() {
        let read = |text| iso_8601(text).map(|it| (it.seconds, it.nanos));
        for (text, expected) in [
            ("PT30M", Some((1_800, 0))),
            ("P1D", Some((86_400, 0))),
            ("P1WT1H", Some((608_400, 0))),
            ("pt0.5s", Some((0, 500_000_000))),
            ("-PT1.5S", Some((-1, -500_000_000))),
            ("P1M", None),
            ("P1Y", None),
            ("PT", None),
            ("30 minutes", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
