//! Configuration of a runtime.

use std::sync::Arc;

use jiff::tz::TimeZoneDatabase;
use perennial_engine::Zones;
use perennial_engine::run::Limits;

use crate::cell::KEYS_PER_LEASE_MAX;

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
        }
    }
}

impl Default for RuntimeConfig {
    /// The defaults, with the embedded time zone database. Reads nothing from the machine.
    fn default() -> Self {
        Self::new(Arc::new(Zones::new(TimeZoneDatabase::bundled())))
    }
}
