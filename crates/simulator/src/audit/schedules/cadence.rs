//! The times of a schedule, computed by arithmetic.

use perennial_engine::{Span, Time};
use perennial_proto::temporal::schedule::v1::ScheduleSpec;

pub(super) const SECOND: i64 = 1_000_000_000;

/// The times of a spec, in whole Unix seconds.
#[derive(Debug, Clone)]
pub(super) struct Cadence {
    /// A period in seconds and its phase.
    parts: Vec<(i64, i64)>,
    start: i64,
    end: i64,
    jitter: i64,
}

impl Cadence {
    /// The cadence of a spec that the simulator's clients make; `None` for other specs.
    pub(super) fn read(spec: &ScheduleSpec) -> Option<Self> {
        let seconds = |span: &Option<_>| Span::of(span.as_ref()).0 / SECOND;
        let mut parts: Vec<_> =
            spec.interval.iter().map(|it| (seconds(&it.interval), seconds(&it.phase))).collect();
        for cron in &spec.cron_string {
            let fields: Vec<_> = cron.split_whitespace().collect();
            let every: i64 = fields.first()?.strip_prefix("*/")?.parse().ok()?;
            let unit = match fields.len() {
                7 => 1,
                5 => 60,
                _ => return None,
            };
            parts.push((every * unit, 0));
        }
        let nanos = |at: &Option<_>, or| at.map_or(or, |at| Time::from(at).0);
        Some(Self {
            parts,
            start: nanos(&spec.start_time, i64::MIN),
            end: nanos(&spec.end_time, i64::MAX),
            jitter: Span::of(spec.jitter.as_ref()).0,
        })
    }

    /// The first time after an instant.
    pub(super) fn after(&self, instant: i64) -> Option<i64> {
        let first = instant.max(self.start.saturating_sub(1)).div_euclid(SECOND) + 1;
        let next = |(every, phase): &(i64, i64)| first + (phase - first).rem_euclid(*every);
        let next = self.parts.iter().map(next).min()? * SECOND;
        (next <= self.end).then_some(next)
    }

    /// The times after an instant, up to another inclusive.
    pub(super) fn between(&self, after: i64, up_to: i64) -> impl Iterator<Item = i64> {
        let first = self.after(after);
        std::iter::successors(first, |at| self.after(*at)).take_while(move |at| *at <= up_to)
    }

    /// The latest due time of a nominal time: jitter never passes the next one.
    pub(super) fn due_by(&self, time: i64) -> i64 {
        let jittered = time.saturating_add(self.jitter);
        self.after(time).map_or(jittered, |next| next.min(jittered))
    }
}

/// The time in RFC 3339 in UTC, to the second.
pub(super) fn rfc3339(time: i64) -> String {
    let seconds = time.div_euclid(SECOND);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date so many days after 1970-01-01. Counts years and months one by one, which is fast enough for few years.
fn date(mut days: i64) -> (i64, i64, i64) {
    let mut year = 1970;
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_people_do() {
        assert_eq!(rfc3339(1_794_787_200 * SECOND), "2026-11-16T00:00:00Z");
        assert_eq!(rfc3339(1_709_251_199 * SECOND), "2024-02-29T23:59:59Z");
    }

    #[test]
    fn an_interval_begins_at_its_phase() {
        let cadence = Cadence { parts: vec![(20, 3)], start: i64::MIN, end: i64::MAX, jitter: 0 };
        let times: Vec<_> = cadence.between(3 * SECOND, 60 * SECOND).collect();
        assert_eq!(times, [23 * SECOND, 43 * SECOND]);
    }

    #[test]
    fn jitter_ends_at_the_next_time() {
        let cadence =
            Cadence { parts: vec![(5, 0)], start: 0, end: 10 * SECOND, jitter: 9 * SECOND };
        assert_eq!(cadence.due_by(5 * SECOND), 10 * SECOND);
        assert_eq!(cadence.between(0, 60 * SECOND).count(), 2);
    }
}
