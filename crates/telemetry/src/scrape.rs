//! Metrics that are collected for one scrape.

use metrics_exporter_prometheus::PrometheusRecorder;

use crate::metrics::{counter, gauge, prometheus_recorder};
use crate::table::Metric;

/// The longest value of a label, in bytes. Names that users choose may be longer, and are cut.
const LABEL_BYTES_MAX: usize = 200;

/// Values collected for one scrape. A series that nobody adds isn't there: what is gone disappears from the metrics.
///
/// ```
/// use perennial_telemetry::{Metrics, table};
///
/// let metrics = Metrics::enabled();
/// let scrape = metrics.scrape();
/// scrape.add(&table::STORE_SIZE, &["redo"], 4096.0);
/// assert!(metrics.render(scrape).contains(r#"perennial_store_size_bytes{file="redo"} 4096"#));
/// ```
#[derive(Debug)]
pub struct Scrape {
    recorder: PrometheusRecorder,
}

impl Scrape {
    pub(crate) fn new() -> Self {
        Self { recorder: prometheus_recorder() }
    }

    /// Adds to a gauge.
    pub fn add(&self, metric: &Metric, labels: &[&str], value: f64) {
        self.gauge(metric, labels).increment(value);
    }

    /// Adds to a counter.
    pub fn count(&self, metric: &Metric, labels: &[&str], value: u64) {
        let labels: Vec<_> = labels.iter().map(|label| bounded(label)).collect();
        counter(&self.recorder, metric, &labels).increment(value);
    }

    pub(crate) fn render(&self) -> String {
        self.recorder.handle().render()
    }

    fn gauge(&self, metric: &Metric, labels: &[&str]) -> metrics::Gauge {
        let labels: Vec<_> = labels.iter().map(|label| bounded(label)).collect();
        gauge(&self.recorder, metric, &labels)
    }
}

fn bounded(label: &str) -> &str {
    &label[..label.floor_char_boundary(LABEL_BYTES_MAX)]
}
