//! Warnings before certificates expire.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A certificate in use, and its expiry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TlsStatus {
    /// The file of the certificate.
    pub file: PathBuf,
    /// The subject of the certificate as in RFC 4514.
    pub subject: String,
    /// The first second in which the certificate is valid.
    pub not_before: Timestamp,
    /// The last second in which the certificate is valid.
    pub not_after: Timestamp,
}

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
/// A warning is logged when less than this time is left.
const WARN_BEFORE: [u64; 7] = [30 * DAY, 14 * DAY, 7 * DAY, 3 * DAY, DAY, 6 * HOUR, HOUR];

/// Remembers which warnings have been given.
#[derive(Debug, Default)]
pub(super) struct ExpiryWarnings(HashMap<TlsStatus, Stage>);

/// How near the expiry of a certificate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    NotYetValid,
    Valid,
    /// Less than this is left.
    Expiring(Duration),
    Expired,
}

impl ExpiryWarnings {
    /// Logs each certificate that has reached a new stage.
    pub(super) fn log(&mut self, certificates: &[TlsStatus], now: Timestamp) {
        for (certificate, stage) in self.news(certificates, now) {
            let TlsStatus { file, subject, not_before, not_after } = certificate;
            let file = file.display();
            match stage {
                Stage::Valid => {}
                Stage::NotYetValid => tracing::warn!(
                    "the certificate of `{subject}` in {file} isn't valid before {not_before}: connections fail until \
                     then; check this machine's clock"
                ),
                Stage::Expiring(_) => {
                    let left = left(not_after.duration_since(now));
                    tracing::warn!(
                        "the certificate of `{subject}` in {file} expires in {left}, at {not_after}; replace the file"
                    );
                }
                Stage::Expired => tracing::error!(
                    "the certificate of `{subject}` in {file} has expired at {not_after}: connections fail; replace \
                     the file"
                ),
            }
        }
    }

    /// The certificates that have reached a new stage. Forgets those that aren't in use any more.
    fn news<'a>(
        &mut self,
        certificates: &'a [TlsStatus],
        now: Timestamp,
    ) -> Vec<(&'a TlsStatus, Stage)> {
        self.0.retain(|known, _| certificates.contains(known));
        let mut news = Vec::new();
        for certificate in certificates {
            let stage = Stage::of(certificate, now);
            if self.0.insert(certificate.clone(), stage) != Some(stage) {
                news.push((certificate, stage));
            }
        }
        news
    }
}

impl Stage {
    fn of(certificate: &TlsStatus, now: Timestamp) -> Self {
        if now < certificate.not_before {
            return Self::NotYetValid;
        }
        let Ok(left) = Duration::try_from(certificate.not_after.duration_since(now)) else {
            return Self::Expired;
        };
        let life = certificate.not_after.duration_since(certificate.not_before);
        let life = Duration::try_from(life).unwrap_or_default();
        // A certificate for a day would always be about to expire: only its second half counts.
        let reached = WARN_BEFORE.map(Duration::from_secs).into_iter().filter(|it| *it * 2 <= life);
        match reached.filter(|before| left < *before).min() {
            Some(before) => Self::Expiring(before),
            None => Self::Valid,
        }
    }
}

fn left(left: SignedDuration) -> String {
    match (left.as_hours() / 24, left.as_hours()) {
        (0, 0) => format!("{} minutes", left.as_mins()),
        (0, hours) => format!("{hours} hours"),
        (days, _) => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(not_before: &str, not_after: &str) -> TlsStatus {
        TlsStatus {
            file: "server.pem".into(),
            subject: "CN=server".to_owned(),
            not_before: not_before.parse().unwrap(),
            not_after: not_after.parse().unwrap(),
        }
    }

    #[test]
    fn each_stage_is_reported_once() {
        let certificates = [status("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")];
        let mut warnings = ExpiryWarnings::default();
        let mut reported = Vec::new();
        for day in 0..370 {
            let now = "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap()
                + SignedDuration::from_hours(day * 24 + 12);
            for _ in 0..2 {
                let news = warnings.news(&certificates, now);
                reported.extend(news.into_iter().map(|(_, stage)| (day, stage)));
            }
        }
        let days = |days: u64| Stage::Expiring(Duration::from_secs(days * DAY));
        let expected = [
            (0, Stage::Valid),
            (335, days(30)),
            (351, days(14)),
            (358, days(7)),
            (362, days(3)),
            (364, days(1)),
            (365, Stage::Expired),
        ];
        assert_eq!(reported, expected);
    }

    #[test]
    fn short_lived_certificates_are_reported_in_their_second_half_only() {
        let certificate = status("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let stage = |now: &str| Stage::of(&certificate, now.parse().unwrap());
        assert_eq!(stage("2025-12-31T23:59:59Z"), Stage::NotYetValid);
        assert_eq!(stage("2026-01-01T00:00:00Z"), Stage::Valid);
        assert_eq!(stage("2026-01-01T18:00:00Z"), Stage::Valid);
        let six_hours = Stage::Expiring(Duration::from_secs(6 * HOUR));
        assert_eq!(stage("2026-01-01T18:00:01Z"), six_hours);
        assert_eq!(stage("2026-01-02T00:00:01Z"), Stage::Expired);
    }

    #[test]
    fn replaced_certificate_is_reported_anew() {
        let mut warnings = ExpiryWarnings::default();
        let now = "2026-12-31T12:00:00Z".parse().unwrap();
        let old = [status("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")];
        assert_eq!(warnings.news(&old, now).len(), 1);
        let new = [status("2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z")];
        assert_eq!(warnings.news(&new, now), [(&new[0], Stage::Valid)]);
        assert_eq!(warnings.0.len(), 1);
    }
}
