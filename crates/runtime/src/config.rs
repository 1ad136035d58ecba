//! Configuration of a runtime.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZoneDatabase;
use perennial_engine::Zones;
use perennial_engine::run::Limits;
use perennial_telemetry::{Metrics, Tracer};

use crate::cell::KEYS_PER_LEASE_MAX;
use crate::cluster::ClusterConfig;
use crate::namespaces::Isolation;

/// Configuration of a runtime.
#[derive(Clone)]
pub struct RuntimeConfig {
    /// Number of cells; `None` for as many as the store has. A new store has one.
    pub cells: Option<u32>,
    /// Entities that each cell caches.
    pub entities_cached: usize,
    /// Memory in bytes for cached entities, unanswered requests, pages of completions and waiting tasks.
    pub memory_budget: usize,
    /// Keys that a cell assigns under one lease before it takes the next: 2^31 at most.
    pub keys_per_lease: u32,
    /// Limits on runs, payloads and requests.
    pub limits: Limits,
    /// Time zones for cron strings and schedules.
    pub zones: Arc<Zones>,
    /// What triggers the evaluation of due schedules.
    pub evaluation: Evaluation,
    /// Whether the workflows of a namespace may reach into others.
    pub isolation: Isolation,
    /// How long a commit may take before the store counts as unhealthy: a disk may hang without an error.
    pub commit_stalled_after: Duration,
    /// How the node takes part in a cluster. Only for a store that several nodes can share; without it, this node takes
    /// all cells, and any other node that works on the store ends.
    pub cluster: Option<ClusterConfig>,
    /// Records what the runtime does.
    pub metrics: Arc<Metrics>,
    /// Records traces of calls and workflows.
    pub tracer: Tracer,
}

/// What triggers the evaluation of due schedules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Evaluation {
    /// The clock: schedules are evaluated when they are due.
    #[default]
    ByItself,
    /// Only a call of [`crate::Runtime::evaluate_schedules`].
    OnDemand,
}

impl RuntimeConfig {
    /// The defaults, with these time zones.
    pub fn new(zones: Arc<Zones>) -> Self {
        Self {
            cells: None,
            entities_cached: 10_000,
            memory_budget: 256 * 1024 * 1024,
            keys_per_lease: KEYS_PER_LEASE_MAX,
            limits: Limits::default(),
            zones,
            evaluation: Evaluation::default(),
            isolation: Isolation::default(),
            commit_stalled_after: Duration::from_secs(10),
            cluster: None,
            metrics: Metrics::disabled(),
            tracer: Tracer::disabled(),
        }
    }
}

impl Default for RuntimeConfig {
    /// The defaults, with the embedded time zone database. Reads nothing from the machine.
    fn default() -> Self {
        Self::new(Arc::new(Zones::new(TimeZoneDatabase::bundled())))
    }
}
