//! Metrics of schedules: a bounded number of series.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use perennial_engine::EntityId;
use perennial_telemetry::{BoundedSeries, Metrics, OTHER, Scrape, Verdict, table};

use super::lock;
use crate::cell::Verdicts;
use crate::namespaces::Namespaces;

/// Schedules with series of their own: the first ones that missed or skipped a time.
const SERIES_MAX: usize = 200;

/// Counts the times that schedules missed and skipped.
pub(crate) struct ScheduleSeries(Mutex<BoundedSeries<EntityId, Counts>>);

#[derive(Default)]
struct Counts {
    missed: AtomicU64,
    skipped: AtomicU64,
}

impl Default for ScheduleSeries {
    fn default() -> Self {
        Self(Mutex::new(BoundedSeries::new(SERIES_MAX)))
    }
}

impl ScheduleSeries {
    /// Counts durable verdicts.
    pub(crate) fn record(&self, verdicts: Verdicts, metrics: &Metrics) {
        let Verdicts { schedule, counts, lags, is_deleted } = verdicts;
        for (verdict, times) in counts {
            metrics.schedules.count(verdict, times);
            let count = |counts: &Counts| match verdict {
                Verdict::Missed => counts.missed.fetch_add(times, Ordering::Relaxed),
                Verdict::Skipped => counts.skipped.fetch_add(times, Ordering::Relaxed),
                Verdict::Fired
                | Verdict::Late
                | Verdict::Dropped
                | Verdict::Excluded
                | Verdict::Buffered => 0,
            };
            if matches!(verdict, Verdict::Missed | Verdict::Skipped) {
                count(&lock(&self.0).get(schedule.clone()));
            }
        }
        for lag in lags {
            metrics.schedules.record_lag(lag);
        }
        if is_deleted {
            lock(&self.0).retain(|known| *known != schedule);
        }
    }

    /// Adds the series to a scrape, and drops those of deleted namespaces.
    pub(crate) fn collect(&self, namespaces: &Namespaces, scrape: &Scrape) {
        let mut series = lock(&self.0);
        series.retain(|schedule| namespaces.by_key(schedule.namespace).is_some());
        for (schedule, counts) in series.iter() {
            let namespace = schedule.and_then(|it| namespaces.by_key(it.namespace));
            let namespace = namespace.map_or(OTHER, |record| record.name.as_str());
            let labels = [namespace, schedule.map_or(OTHER, |schedule| schedule.id.as_ref())];
            let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
            scrape.count(&table::SCHEDULE_MISSED, &labels, count(&counts.missed));
            scrape.count(&table::SCHEDULE_SKIPPED, &labels, count(&counts.skipped));
        }
    }
}
