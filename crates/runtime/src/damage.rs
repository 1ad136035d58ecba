//! Damaged rows in the store: each is logged once, counted, and kept.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use perennial_engine::{EntityRef, Kind};

/// Limit on reported rows, so that a badly damaged store fills neither memory nor log.
const REPORTED_MAX: usize = 1_000;

/// Number of damaged rows found since the start. Each counts once, up to a thousand in total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DamageCount {
    /// Runs that can't be loaded, by run id and as the current one. Requests for them fail with
    /// [`Refusal::Damaged`](crate::Refusal::Damaged).
    pub runs: usize,
    /// Schedules that can't be loaded. They don't act.
    pub schedules: usize,
    /// Tasks that can't be decoded. No worker gets them.
    pub tasks: usize,
    /// Messages between entities that can't be decoded, or whose receiver is damaged. They aren't delivered.
    pub messages: usize,
    /// Batch jobs that can't be decoded. They don't continue.
    pub batch_jobs: usize,
}

/// A stored item that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damaged {
    Entity(EntityRef),
    Task { key: i64 },
    Message { key: i64 },
    BatchJob { key: String },
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entity(EntityRef { id, run_id: Some(run_id) }) => {
                write!(f, "{id} run {run_id:?}")
            }
            Self::Entity(EntityRef { id, run_id: None }) if id.kind == Kind::Run => {
                write!(f, "the current run of {id}")
            }
            Self::Entity(EntityRef { id, run_id: None }) => write!(f, "{id}"),
            Self::Task { key } => write!(f, "waiting task {key}"),
            Self::Message { key } => write!(f, "message {key} between entities"),
            Self::BatchJob { key } => write!(f, "batch job {key:?}"),
        }
    }
}

impl Damaged {
    /// The effect of the damage, for the log.
    fn consequence(&self) -> &'static str {
        match self {
            Self::Entity(_) => "it doesn't run, and requests for it fail with DATA_LOSS",
            Self::Task { .. } => "no worker gets it",
            Self::Message { .. } => "it isn't delivered before the next start",
            Self::BatchJob { .. } => "it doesn't continue",
        }
    }
}

/// Damaged rows found so far, shared by all cells of a node.
#[derive(Default)]
pub(crate) struct Damage {
    reported: Mutex<BTreeSet<Damaged>>,
}

impl Damage {
    /// Logs and counts a damaged row, once.
    pub(crate) fn report(&self, what: Damaged, why: &dyn fmt::Display) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.len() >= REPORTED_MAX || reported.contains(&what) {
            return;
        }
        let consequence = what.consequence();
        tracing::error!("{what} can't be read: {why}; {consequence}; it is kept in the store");
        reported.insert(what);
        if reported.len() == REPORTED_MAX {
            tracing::error!("{REPORTED_MAX} stored items can't be read; no more are logged");
        }
    }

    pub(crate) fn count(&self) -> DamageCount {
        let mut count = DamageCount::default();
        for what in &*self.reported.lock().unwrap_or_else(PoisonError::into_inner) {
            match what {
                Damaged::Entity(EntityRef { id, .. }) => match id.kind {
                    Kind::Run => count.runs += 1,
                    Kind::Schedule => count.schedules += 1,
                },
                Damaged::Task { .. } => count.tasks += 1,
                Damaged::Message { .. } => count.messages += 1,
                Damaged::BatchJob { .. } => count.batch_jobs += 1,
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_counts_once_and_not_more_than_the_memory_holds() {
        let damage = Damage::default();
        for _ in 0..2 {
            damage.report(Damaged::Task { key: 7 }, &"torn");
        }
        assert_eq!(damage.count(), DamageCount { tasks: 1, ..DamageCount::default() });
        for key in 0..5_000 {
            damage.report(Damaged::Message { key }, &"torn");
        }
        assert_eq!(damage.count().messages, REPORTED_MAX - 1);
    }
}
