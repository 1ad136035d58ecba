//! The metrics of a runtime.

use std::sync::Arc;

use perennial_telemetry::{Metrics, Scrape, table};

use crate::Runtime;

impl Runtime {
    /// The metrics of the server.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.node.metrics
    }

    /// Adds the metrics of the runtime to a scrape. Blocks while it reads the sizes of files.
    pub fn collect_metrics(&self, scrape: &Scrape) {
        for cell in self.node.cells.all().iter() {
            let (label, cache) = (cell.slots.first().0.to_string(), cell.cache_size());
            scrape.add(&table::CELL_QUEUE_DEPTH, &[&label], cell.queue_depth() as f64);
            scrape.add(&table::CACHE_ENTITIES, &[&label], cache.entities as f64);
            scrape.add(&table::CACHE_BYTES, &[&label], cache.bytes as f64);
        }
        let namespaces = self.namespaces();
        self.node.queues.collect((self.node.monotonic(), self.now()), &namespaces, scrape);
        self.node.schedule_series.collect(&namespaces, scrape);
        for file in self.node.store.file_sizes() {
            scrape.add(&table::STORE_SIZE, &[file.name], file.bytes as f64);
        }
        let damage = self.damage();
        let damaged = [
            ("run", damage.runs),
            ("schedule", damage.schedules),
            ("task", damage.tasks),
            ("message", damage.messages),
            ("batch_job", damage.batch_jobs),
        ];
        for (kind, rows) in damaged {
            scrape.add(&table::STORE_DAMAGED_ROWS, &[kind], rows as f64);
        }
    }
}
