//! What of the store can't be read: logged once each, counted, and left where it is.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use perennial_engine::{EntityRef, Kind};

/// No more than this is told apart: a store in ruins fills neither the memory nor the log.
const NOTICED_MAX: usize = 1_000;

/// How much of the store was found damaged since the start. Each thing counts once, up to a thousand of all kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DamageCount {
    /// Runs that can't be loaded, by run id and as the current one: callers hear
    /// [`Refusal::Damaged`](crate::Refusal::Damaged).
    pub runs: usize,
    /// Schedules that can't be loaded. They don't act.
    pub schedules: usize,
    /// Tasks that can't be decoded. No worker gets them.
    pub tasks: usize,
    /// Messages between entities that can't be decoded, or whose receiver is damaged. They aren't delivered.
    pub messages: usize,
    /// Batch jobs that can't be decoded. They don't go on.
    pub batch_jobs: usize,
}

/// Something in the store that can't be read.
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
    /// What follows from it, for the log.
    fn consequence(&self) -> &'static str {
        match self {
            Self::Entity(_) => "it doesn't act, and calls for it are answered DATA_LOSS",
            Self::Task { .. } => "no worker gets it",
            Self::Message { .. } => "it isn't delivered before the next start",
            Self::BatchJob { .. } => "it doesn't go on",
        }
    }
}

/// What was found damaged. One for all cells of a node.
#[derive(Default)]
pub(crate) struct Damage {
    noticed: Mutex<BTreeSet<Damaged>>,
}

impl Damage {
    /// Logs and counts it, if it is met for the first time.
    pub(crate) fn notice(&self, what: Damaged, why: &dyn fmt::Display) {
        let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        if noticed.len() >= NOTICED_MAX || noticed.contains(&what) {
            return;
        }
        let consequence = what.consequence();
        tracing::error!("{what} can't be read: {why}; {consequence}; it is kept in the store");
        noticed.insert(what);
        if noticed.len() == NOTICED_MAX {
            tracing::error!("{NOTICED_MAX} things in the store can't be read; no more are logged");
        }
    }

    pub(crate) fn count(&self) -> DamageCount {
        let mut count = DamageCount::default();
        for what in &*self.noticed.lock().unwrap_or_else(PoisonError::into_inner) {
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
            damage.notice(Damaged::Task { key: 7 }, &"torn");
        }
        assert_eq!(damage.count(), DamageCount { tasks: 1, ..DamageCount::default() });
        for key in 0..5_000 {
            damage.notice(Damaged::Message { key }, &"torn");
        }
        assert_eq!(damage.count().messages, NOTICED_MAX - 1);
    }
}
