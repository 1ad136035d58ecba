//! Metrics of task queues: a bounded number of series.

use std::collections::{HashMap, HashSet};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};

use perennial_engine::{NamespaceKey, Span, Time};
use perennial_telemetry::{BoundedSeries, OTHER, Scrape, table};

use super::{Queue, QueueKind, QueueName, Queues};
use crate::clock::Monotonic;
use crate::namespaces::Namespaces;

/// Task queues with series of their own.
const SERIES_MAX: usize = 200;
/// The label of all sticky queues. Each worker has one of a random name.
const STICKY: &str = "_sticky";

/// Names the series of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SeriesName {
    namespace: NamespaceKey,
    /// `None` for sticky queues.
    queue: Option<String>,
    kind: QueueKind,
}

/// The series of all queues.
pub(super) type QueueSeries = BoundedSeries<SeriesName, Matches>;

pub(super) fn new() -> QueueSeries {
    BoundedSeries::new(SERIES_MAX)
}

impl SeriesName {
    pub(super) fn of(queue: &QueueName, is_sticky: bool) -> Self {
        let QueueName { namespace, name, kind } = queue;
        let queue = (!is_sticky).then(|| name.clone());
        Self { namespace: *namespace, queue, kind: *kind }
    }
}

/// Counts the tasks that were matched with a poll.
#[derive(Debug, Default)]
pub(super) struct Matches {
    sync: AtomicU64,
    backlog: AtomicU64,
}

impl Matches {
    /// A task was matched when it was created.
    pub(super) fn count_sync(&self) {
        self.sync.fetch_add(1, Ordering::Relaxed);
    }

    /// A task was matched after it had waited.
    pub(super) fn count_backlog(&self) {
        self.backlog.fetch_add(1, Ordering::Relaxed);
    }
}

/// The state of the queues of one series.
#[derive(Debug, Default)]
struct QueueSample {
    backlog: usize,
    age: Span,
    pollers: usize,
}

impl Queues {
    /// Adds the metrics of the queues to a scrape, and drops queues that are unused.
    pub(crate) fn collect(
        &self,
        (now, shown_now): (Monotonic, Time),
        namespaces: &Namespaces,
        scrape: &Scrape,
    ) {
        let samples = self.samples(now, shown_now, namespaces);
        let series = self.live_series();
        let mut other = QueueSample::default();
        for (name, sample) in samples {
            if series.has_own(&name) {
                sample.add_to(scrape, labels(Some(&name), namespaces));
            } else {
                other.merge(sample);
            }
        }
        other.add_to(scrape, labels(None, namespaces));
        for (name, matches) in series.iter() {
            let [namespace, queue, kind] = labels(name, namespaces);
            for (match_, count) in [("sync", &matches.sync), ("backlog", &matches.backlog)] {
                let count = count.load(Ordering::Relaxed);
                scrape.count(&table::TASK_QUEUE_MATCHES, &[namespace, queue, kind, match_], count);
            }
        }
    }

    /// The series of queues that still exist.
    fn live_series(&self) -> MutexGuard<'_, QueueSeries> {
        let queues = self.lock();
        let live: HashSet<_> = queues.iter().map(|(name, queue)| queue.series_name(name)).collect();
        let mut series = self.series();
        series.retain(|name| live.contains(name));
        series
    }

    /// The state of all queues that are in use, by their series.
    fn samples(
        &self,
        now: Monotonic,
        shown_now: Time,
        namespaces: &Namespaces,
    ) -> HashMap<SeriesName, QueueSample> {
        let names: Vec<QueueName> = {
            let mut queues = self.lock();
            queues.retain(|_, queue| !queue.is_unused(now));
            queues.keys().cloned().collect()
        };
        let mut samples = HashMap::<SeriesName, QueueSample>::new();
        for name in names {
            if namespaces.by_key(name.namespace).is_none() {
                continue;
            }
            // Not locked for all queues together: the age of a long backlog takes a while, and cells wait for the lock.
            let mut queues = self.lock();
            if let Some(queue) = queues.get_mut(&name) {
                let sample = QueueSample::of(queue, shown_now);
                samples.entry(queue.series_name(&name)).or_default().merge(sample);
            }
        }
        samples
    }
}

impl QueueSample {
    fn of(queue: &Queue, now: Time) -> Self {
        let oldest = queue.backlog.oldest();
        Self {
            backlog: queue.backlog.len(),
            age: oldest.map_or(Span::ZERO, |oldest| now.since(oldest)),
            pollers: queue.pollers.iter().filter(|poller| !poller.is_gone()).count(),
        }
    }

    fn merge(&mut self, more: Self) {
        self.backlog += more.backlog;
        self.age = self.age.max(more.age);
        self.pollers += more.pollers;
    }

    fn add_to(&self, scrape: &Scrape, labels: [&str; 3]) {
        let age = self.age.0.max(0) as f64 / 1e9;
        scrape.add(&table::TASK_QUEUE_BACKLOG, &labels, self.backlog as f64);
        scrape.add(&table::TASK_QUEUE_BACKLOG_AGE, &labels, age);
        scrape.add(&table::TASK_QUEUE_POLLERS, &labels, self.pollers as f64);
    }
}

/// The labels of a series: namespace, task queue and kind.
fn labels<'a>(name: Option<&'a SeriesName>, namespaces: &'a Namespaces) -> [&'a str; 3] {
    let Some(SeriesName { namespace, queue, kind }) = name else { return [OTHER; 3] };
    let namespace = namespaces.by_key(*namespace).map_or(OTHER, |record| record.name.as_str());
    let kind = match kind {
        QueueKind::Workflow => "workflow",
        QueueKind::Activity => "activity",
    };
    [namespace, queue.as_deref().unwrap_or(STICKY), kind]
}
