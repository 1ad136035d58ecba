//! How a runtime is set up.

use std::sync::Arc;

use jiff::tz::TimeZoneDatabase;
use perennial_engine::Zones;
use perennial_engine::run::Limits;

use crate::cell::KEYS_PER_LEASE_MAX;

/// How a runtime is set up.
#[derive(Clone)]
pub struct RuntimeConfig {
    /// How many cells share the slots; `None` for as many as the store has. A store begins with one.
    pub cells: Option<u32>,
    /// How many entities each cell keeps in memory.
    pub entities_cached: usize,
    /// Bytes of memory for what grows with use: entities in memory, requests that aren't answered, pages of
    /// completions, waiting tasks.
    pub memory_budget: usize,
    /// Keys that a cell makes under one lease before it takes the next: 2^31 at most.
    pub keys_per_lease: u32,
    /// How much is allowed.
    pub limits: Limits,
    /// The zones that cron strings are read in.
    pub zones: Arc<Zones>,
    /// Who looks at schedules when their time comes.
    pub evaluation: Evaluation,
}

/// Who looks at schedules when their time comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Evaluation {
    /// They are looked at when they are due.
    #[default]
    ByItself,
    /// Only when someone asks, with [`crate::Runtime::evaluate_schedules`].
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
    /// The defaults, with the embedded time zone database: nothing is read from the machine.
    fn default() -> Self {
        Self::new(Arc::new(Zones::new(TimeZoneDatabase::bundled())))
    }
}
