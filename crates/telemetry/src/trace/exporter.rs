//! Exports spans over OTLP, and logs when that begins and ends to fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SpanData;

use super::tracer::InvalidTracing;

/// The longest time that an export may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Starts an exporter for a collector. The connection is made with the first export.
pub(super) fn start(endpoint: &str) -> Result<LoggedExporter, InvalidTracing> {
    let is_https = endpoint.starts_with("https://");
    if !is_https && !endpoint.starts_with("http://") {
        return Err(InvalidTracing::Endpoint(endpoint.to_owned()));
    }
    let exporter =
        SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(TIMEOUT);
    let exporter = match is_https {
        true => exporter.with_tls_config(ClientTlsConfig::new().with_native_roots()),
        false => exporter,
    };
    let exporter = exporter.build().map_err(|error| InvalidTracing::Exporter {
        endpoint: endpoint.to_owned(),
        problem: error.to_string(),
    })?;
    Ok(LoggedExporter { exporter, endpoint: endpoint.to_owned(), fails: AtomicBool::new(false) })
}

/// An exporter whose failures are logged when they begin and when they end.
#[derive(Debug)]
pub(super) struct LoggedExporter {
    exporter: SpanExporter,
    endpoint: String,
    fails: AtomicBool,
}

impl opentelemetry_sdk::trace::SpanExporter for LoggedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let exported = self.exporter.export(batch).await;
        let endpoint = &self.endpoint;
        match (&exported, self.fails.swap(exported.is_err(), Ordering::Relaxed)) {
            (Err(error), false) => {
                tracing::warn!(endpoint, %error, "traces can't be exported, and are lost until they can");
            }
            (Ok(()), true) => tracing::info!(endpoint, "traces are exported again"),
            (Err(_), true) | (Ok(()), false) => {}
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
