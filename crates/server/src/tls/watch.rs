//! Notices new files.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::expiry::ExpiryWarnings;
use super::files::{Files, Version};
use super::{Tls, TlsError};

/// How often the files are read.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

impl Tls {
    /// Reads the files every two seconds, and uses those that have changed for new connections. Logs what happens,
    /// and warns before certificates expire. Never ends by itself.
    pub(crate) async fn watch(self: Arc<Self>) -> Infallible {
        let (mut reports, mut warnings) = (Reports::default(), ExpiryWarnings::default());
        loop {
            warnings.log(&self.status(), Timestamp::now());
            let is_requested = tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => false,
                () = self.reload_request.notified() => true,
            };
            let tls = Arc::clone(&self);
            let reading = tokio::task::spawn_blocking(move || {
                let files = Files::read(&tls.config);
                (files.version(), tls.replace_with(&files))
            });
            match reading.await {
                Ok((version, outcome)) => {
                    if let Some(report) = reports.next(version, outcome, is_requested) {
                        report.log();
                    }
                }
                // The runtime is shutting down, or there is a bug that the panic's own message describes.
                Err(error) => tracing::error!("the TLS certificates can't be read: {error}"),
            }
        }
    }
}

/// Decides what is logged about the files: each change once.
#[derive(Debug, Default)]
struct Reports {
    bad: Option<BadFiles>,
}

/// The files as they were read last, if they can't be used.
#[derive(Debug)]
struct BadFiles {
    version: Version,
    is_reported: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Report {
    Replaced,
    Unchanged,
    GoodAgain,
    Bad(TlsError),
}

impl Reports {
    /// The report about the files that were just read.
    fn next(
        &mut self,
        version: Version,
        outcome: Result<bool, TlsError>,
        is_requested: bool,
    ) -> Option<Report> {
        let error = match outcome {
            Ok(is_new) => {
                let was_reported = self.bad.take().is_some_and(|bad| bad.is_reported);
                return match (is_new, was_reported, is_requested) {
                    (true, _, _) => Some(Report::Replaced),
                    (false, true, _) => Some(Report::GoodAgain),
                    (false, false, true) => Some(Report::Unchanged),
                    (false, false, false) => None,
                };
            }
            Err(error) => error,
        };
        // Certificate and key may be written one after the other: only files that stay bad are reported.
        let (was_seen, was_reported) = match &self.bad {
            Some(bad) if bad.version == version => (true, bad.is_reported),
            Some(_) | None => (false, false),
        };
        let reports = is_requested || (was_seen && !was_reported);
        self.bad = Some(BadFiles { version, is_reported: was_reported || reports });
        reports.then_some(Report::Bad(error))
    }
}

impl Report {
    fn log(&self) {
        match self {
            Self::Replaced => tracing::info!("new connections use the new TLS certificates"),
            Self::Unchanged => tracing::info!("the TLS certificates have not changed"),
            Self::GoodAgain => tracing::info!("the TLS files are again those in use"),
            Self::Bad(error) => {
                tracing::error!(
                    "the new TLS files can't be used, the old ones stay in use: {error}"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{CertificateFiles, TlsConfig};
    use super::*;

    fn version(name: &str) -> Version {
        let files = CertificateFiles { certificate: name.into(), key: name.into() };
        let config = TlsConfig { certificates: vec![files], ..TlsConfig::default() };
        Files::read(&config).version()
    }

    #[test]
    fn bad_files_are_reported_once_and_only_if_they_stay_bad() {
        let bad = || Err(TlsError::NoServerCertificate);
        let (first, second) = (version("/nowhere/1"), version("/nowhere/2"));
        let mut reports = Reports::default();
        assert_eq!(reports.next(first, Ok(false), false), None);
        assert_eq!(reports.next(first, bad(), false), None);
        assert_eq!(reports.next(second, Ok(true), false), Some(Report::Replaced));
        assert_eq!(reports.next(first, bad(), false), None);
        let report = Some(Report::Bad(TlsError::NoServerCertificate));
        assert_eq!(reports.next(first, bad(), false), report);
        assert_eq!(reports.next(first, bad(), false), None);
        assert_eq!(reports.next(first, bad(), true), report);
        assert_eq!(reports.next(second, bad(), false), None);
        assert_eq!(reports.next(second, bad(), false), report);
        assert_eq!(reports.next(second, Ok(false), false), Some(Report::GoodAgain));
        assert_eq!(reports.next(second, Ok(false), true), Some(Report::Unchanged));
    }
}
