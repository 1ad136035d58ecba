//! The handles of a server's metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, NoopRecorder, Recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};

use crate::labels::{LongPoll, Protocol, RefusalReason, Verdict};
use crate::request::RpcMetrics;
use crate::scrape::Scrape;
use crate::table::{self, Kind, Metric};

/// The metrics of one server.
///
/// Parts of the server keep the handles they record. [`Metrics::disabled`] gives handles that do nothing.
///
/// ```
/// use std::time::Duration;
/// use perennial_telemetry::Metrics;
///
/// let metrics = Metrics::enabled();
/// metrics.commits.record(Duration::from_millis(2), 8, true);
/// let text = metrics.render(metrics.scrape());
/// assert!(text.contains("perennial_commit_duration_seconds_count 1"));
/// ```
#[derive(Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    /// Of commits.
    pub commits: CommitMetrics,
    /// Of cells.
    pub cells: CellMetrics,
    /// Of schedules.
    pub schedules: ScheduleMetrics,
    refusals: [Counter; RefusalReason::ALL.len()],
    polls: [(Gauge, Histogram); LongPoll::ALL.len()],
}

impl Metrics {
    /// Metrics that are recorded.
    pub fn enabled() -> Arc<Self> {
        Self::of(Registry::Prometheus(prometheus_recorder()))
    }

    /// Handles that do nothing.
    pub fn disabled() -> Arc<Self> {
        Self::of(Registry::Disabled)
    }

    fn of(registry: Registry) -> Arc<Self> {
        let registry = Arc::new(registry);
        let count = |metric: &Metric, labels: &[&str]| registry.counter(metric, labels);
        let commits = CommitMetrics {
            duration: registry.histogram(&table::COMMIT_DURATION, &[]),
            entities: registry.histogram(&table::COMMIT_ENTITIES, &[]),
            failures: count(&table::COMMIT_FAILURES, &[]),
        };
        let cells = CellMetrics {
            turn_duration: registry.histogram(&table::CELL_TURN_DURATION, &[]),
            cache_hits: count(&table::CACHE_HITS, &[]),
            cache_misses: count(&table::CACHE_MISSES, &[]),
        };
        let schedules = ScheduleMetrics {
            lag: registry.histogram(&table::SCHEDULE_LAG, &[]),
            verdicts: Verdict::ALL
                .map(|verdict| count(&table::SCHEDULE_VERDICTS, &[verdict.name()])),
        };
        let refusals = RefusalReason::ALL.map(|reason| count(&table::REFUSALS, &[reason.name()]));
        let polls = LongPoll::ALL.map(|kind| {
            let waiting = registry.gauge(&table::LONG_POLLS_WAITING, &[kind.name()]);
            (waiting, registry.histogram(&table::LONG_POLL_WAIT, &[kind.name()]))
        });
        Arc::new(Self { commits, cells, schedules, refusals, polls, registry })
    }

    /// Whether anything is recorded.
    pub fn is_enabled(&self) -> bool {
        match *self.registry {
            Registry::Prometheus(_) => true,
            Registry::Disabled => false,
        }
    }

    /// The handles of an RPC, by its path, such as `/perennial.v1.ScheduleService/ListBackfills`.
    pub fn rpc(&self, path: &str) -> RpcMetrics {
        RpcMetrics::new(path, Arc::clone(&self.registry))
    }

    /// The handles of the connections over a protocol.
    pub fn connections(&self, protocol: Protocol) -> ConnectionMetrics {
        let open = self.registry.gauge(&table::CONNECTIONS_OPEN, &[protocol.name()]);
        let refused = self.refusals[RefusalReason::Connections as usize].clone();
        ConnectionMetrics { protocol, open, refused }
    }

    /// Counts a refusal.
    pub fn refused(&self, reason: RefusalReason) {
        self.refusals[reason as usize].increment(1);
    }

    /// A call begins to wait. It waits until the value is dropped.
    pub fn wait(&self, kind: LongPoll) -> WaitingPoll {
        let (waiting, duration) = self.polls[kind as usize].clone();
        waiting.increment(1);
        WaitingPoll { waiting, duration, since: Instant::now() }
    }

    /// Begins a scrape: the caller adds the metrics that are collected for each scrape.
    pub fn scrape(&self) -> Scrape {
        Scrape::new()
    }

    /// All metrics as text for Prometheus.
    pub fn render(&self, scrape: Scrape) -> String {
        match &*self.registry {
            Registry::Prometheus(recorder) => recorder.handle().render() + &scrape.render(),
            Registry::Disabled => String::new(),
        }
    }

    /// Adds recorded durations and sizes to their histograms. Until then each takes eight bytes, so call it every few
    /// seconds even if nobody scrapes.
    pub fn compact(&self) {
        match &*self.registry {
            Registry::Prometheus(recorder) => recorder.handle().run_upkeep(),
            Registry::Disabled => {}
        }
    }
}

/// Where handles are registered.
#[derive(Debug)]
pub(crate) enum Registry {
    Prometheus(PrometheusRecorder),
    Disabled,
}

/// A recorder that knows the meaning and the buckets of every metric.
pub(crate) fn prometheus_recorder() -> PrometheusRecorder {
    let mut builder = PrometheusBuilder::new();
    for metric in table::ALL {
        if let Kind::Histogram(bounds) = metric.kind {
            let name = Matcher::Full(metric.name.to_owned());
            builder = builder
                .set_buckets_for_metric(name, bounds)
                .expect("every histogram of the table has buckets, which a test checks");
        }
    }
    let recorder = builder.build_recorder();
    for metric in table::ALL {
        let (name, help) = (metric.name.into(), metric.help.into());
        match metric.kind {
            Kind::Counter => recorder.describe_counter(name, None, help),
            Kind::Gauge => recorder.describe_gauge(name, None, help),
            Kind::Histogram(_) => recorder.describe_histogram(name, None, help),
        }
    }
    recorder
}

const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

impl Registry {
    fn recorder(&self) -> &dyn Recorder {
        match self {
            Self::Prometheus(recorder) => recorder,
            Self::Disabled => &NoopRecorder,
        }
    }

    pub(crate) fn counter(&self, metric: &Metric, labels: &[&str]) -> Counter {
        counter(self.recorder(), metric, labels)
    }

    pub(crate) fn gauge(&self, metric: &Metric, labels: &[&str]) -> Gauge {
        gauge(self.recorder(), metric, labels)
    }

    pub(crate) fn histogram(&self, metric: &Metric, labels: &[&str]) -> Histogram {
        self.recorder().register_histogram(&key(metric, labels), &METADATA)
    }
}

pub(crate) fn counter(recorder: &dyn Recorder, metric: &Metric, labels: &[&str]) -> Counter {
    recorder.register_counter(&key(metric, labels), &METADATA)
}

pub(crate) fn gauge(recorder: &dyn Recorder, metric: &Metric, labels: &[&str]) -> Gauge {
    recorder.register_gauge(&key(metric, labels), &METADATA)
}

/// A series: a metric with a value for each of its labels.
fn key(metric: &Metric, values: &[&str]) -> Key {
    debug_assert_eq!(metric.labels.len(), values.len(), "{}", metric.name);
    let labels = metric.labels.iter().zip(values);
    let labels: Vec<_> =
        labels.map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(metric.name, labels)
}

/// Records commits.
#[derive(Debug)]
pub struct CommitMetrics {
    duration: Histogram,
    entities: Histogram,
    failures: Counter,
}

impl CommitMetrics {
    /// Records a commit of a number of entities.
    pub fn record(&self, took: Duration, entities: usize, is_durable: bool) {
        self.duration.record(took);
        self.entities.record(entities as f64);
        if !is_durable {
            self.failures.increment(1);
        }
    }
}

/// Records turns of cells.
#[derive(Debug)]
pub struct CellMetrics {
    turn_duration: Histogram,
    cache_hits: Counter,
    cache_misses: Counter,
}

impl CellMetrics {
    /// Records a turn, and how many of its requests found their entity in memory.
    pub fn record_turn(&self, took: Duration, cache_hits: u64, cache_misses: u64) {
        self.turn_duration.record(took);
        if cache_hits > 0 {
            self.cache_hits.increment(cache_hits);
        }
        if cache_misses > 0 {
            self.cache_misses.increment(cache_misses);
        }
    }
}

/// Records verdicts of schedules.
#[derive(Debug)]
pub struct ScheduleMetrics {
    lag: Histogram,
    verdicts: [Counter; Verdict::ALL.len()],
}

impl ScheduleMetrics {
    /// Counts times with the same verdict.
    pub fn count(&self, verdict: Verdict, times: u64) {
        self.verdicts[verdict as usize].increment(times);
    }

    /// Records the lag of a start.
    pub fn record_lag(&self, lag: Duration) {
        self.lag.record(lag);
    }
}

/// A call that waits. Dropped when the wait is over.
#[derive(Debug)]
pub struct WaitingPoll {
    waiting: Gauge,
    duration: Histogram,
    since: Instant,
}

impl WaitingPoll {
    /// How long the call has waited.
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }
}

impl Drop for WaitingPoll {
    fn drop(&mut self) {
        self.waiting.decrement(1);
        self.duration.record(self.since.elapsed());
    }
}

/// Counts the connections over a protocol.
#[derive(Debug, Clone)]
pub struct ConnectionMetrics {
    protocol: Protocol,
    open: Gauge,
    refused: Counter,
}

impl ConnectionMetrics {
    /// The protocol of the connections.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Counts a connection that was refused, because too many are open.
    pub fn refuse(&self) {
        self.refused.increment(1);
    }

    /// A connection was opened. It is open until the value is dropped.
    pub fn open(&self) -> OpenConnection {
        self.open.increment(1);
        OpenConnection(self.open.clone())
    }
}

/// An open connection.
#[derive(Debug)]
pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}
