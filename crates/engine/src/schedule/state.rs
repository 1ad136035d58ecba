//! A schedule: what is known about it now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_proto::perennial::ScheduleExtensions;
use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;

use super::times::{Next, Times, timestamp};
use crate::run::Rejection;
use crate::{EntityId, EntityKey, NamespaceKey, SharedMap, Span, Time};

/// The state of a schedule. Cheap to clone: what hangs on it is shared until it changes.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Of this incarnation of the schedule id.
    pub key: EntityKey,
    /// What changes with almost every step.
    pub head: stored::ScheduleHead,
    /// What people say it is.
    pub config: Arc<stored::ScheduleConfig>,
    /// What the next run is told of those before it.
    pub outcome: Arc<stored::LastOutcome>,
    /// Runs it has started that haven't ended, by their run ids.
    pub running: SharedMap<String, Arc<stored::ScheduledRun>>,
    /// Starts that wait, in order.
    pub buffer: SharedMap<i64, Arc<stored::PlannedStart>>,
    /// Backfills, those that are over too.
    pub backfills: SharedMap<i64, Arc<stored::Backfill>>,
    /// Times still to come that were started by hand already.
    pub ahead: Arc<BTreeSet<i64>>,
    /// When it acts: follows from the configuration.
    pub times: Times,
}

/// What a schedule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It acts when its time comes.
    Active,
    /// It acts when someone asks.
    Paused,
    /// It can't act: its spec doesn't compile any more.
    Broken,
    /// It is over, and only its history is left.
    Deleted,
}

impl Schedule {
    /// What it does.
    pub fn status(&self) -> Status {
        if self.head.deleted_at != 0 {
            Status::Deleted
        } else if self.times.broken().is_some() {
            Status::Broken
        } else if self.head.paused {
            Status::Paused
        } else {
            Status::Active
        }
    }

    /// Itself, if it isn't deleted.
    pub fn present(&self) -> Result<&Self, Rejection> {
        match self.status() {
            Status::Deleted => Err(self.deleted()),
            Status::Active | Status::Paused | Status::Broken => Ok(self),
        }
    }

    /// Its id.
    pub fn id(&self) -> EntityId {
        EntityId::schedule(NamespaceKey(self.head.namespace), self.head.schedule_id.as_str())
    }

    /// Its address, for messages.
    pub fn address(&self) -> stored::Address {
        self.name().into()
    }

    /// Its name.
    pub fn name(&self) -> stored::ScheduleName {
        stored::ScheduleName {
            namespace: self.head.namespace,
            schedule_id: self.head.schedule_id.clone(),
            key: self.key.0,
        }
    }

    /// The policy for a start that overlaps another run: its own, or the schedule's.
    pub fn overlap_policy(&self, of_start: ScheduleOverlapPolicy) -> ScheduleOverlapPolicy {
        match of_start {
            ScheduleOverlapPolicy::Unspecified => match self.config.overlap_policy() {
                ScheduleOverlapPolicy::Unspecified => ScheduleOverlapPolicy::Skip,
                given => given,
            },
            given => given,
        }
    }

    /// What only Perennial has.
    pub fn extensions(&self) -> &ScheduleExtensions {
        static NONE: ScheduleExtensions = ScheduleExtensions {
            catchup_mode: 0,
            unlimited_catchup: false,
            max_runs: 0,
            buffer_max: 0,
            labels: BTreeMap::new(),
        };
        self.config.extensions.as_ref().unwrap_or(&NONE)
    }

    /// Its labels, each as `key=value`: what it and its runs are found by.
    pub fn labels(&self) -> Vec<String> {
        self.extensions().labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// How late a start may be.
    pub(crate) fn catchup_window(&self) -> Span {
        if self.extensions().unlimited_catchup {
            return Span(i64::MAX);
        }
        Span(self.config.catchup_window_nanos)
    }

    /// Whether scheduled starts are limited, and all have been taken.
    pub fn is_exhausted(&self) -> bool {
        self.head.limited_actions && self.head.remaining_actions <= 0
    }

    /// Runs left until its maximum deletes it, if it has one.
    pub fn remaining_runs(&self) -> Option<i64> {
        let max_runs = self.extensions().max_runs;
        (max_runs > 0).then(|| (max_runs - self.head.action_count).max(0))
    }

    /// Whether it starts anything when its time comes.
    pub(crate) fn acts_by_itself(&self) -> bool {
        self.head.deleted_at == 0 && !self.head.paused && !self.is_exhausted()
    }

    /// When it acts next by itself, if it does.
    pub fn next_due(&self) -> Option<Time> {
        if !self.acts_by_itself() {
            return None;
        }
        match self.times.after(Time(self.head.settled_up_to)) {
            Next::At(moment) => Some(moment.due),
            Next::NoneUpTo(_) | Next::Never => None,
        }
    }

    /// When it acts in the future, `count` times at most, as long as its starts aren't used up.
    pub fn future_times(&self, now: Time, count: usize) -> Vec<Time> {
        if self.status() == Status::Deleted {
            return Vec::new();
        }
        let left = if self.head.limited_actions { self.head.remaining_actions } else { i64::MAX };
        let count = count.min(usize::try_from(left).unwrap_or(0));
        self.times.due_after(now).take(count).collect()
    }
}

impl Schedule {
    /// Runs that are there for others to see. A start that is still on its way isn't, nor one that has ended
    /// and that only times from before its end still see.
    pub fn started_runs(&self) -> impl Iterator<Item = &Arc<stored::ScheduledRun>> {
        self.running.values().filter(|run| run.is_started && run.closed_at == 0)
    }

    /// What it started last, as far as that is there to be seen.
    pub fn recent_actions(&self) -> impl Iterator<Item = &stored::RecentAction> {
        self.head.recent_actions.iter().filter(|action| !self.is_on_its_way(&action.run_id))
    }

    /// How many runs it has started.
    pub fn action_count(&self) -> i64 {
        let on_their_way = self.running.values().filter(|run| !run.is_started).count();
        self.head.action_count - i64::try_from(on_their_way).unwrap_or(0)
    }

    /// Whether a start hasn't been answered.
    pub fn is_on_its_way(&self, run_id: &str) -> bool {
        self.running.get(run_id).is_some_and(|run| !run.is_started)
    }
}

impl Schedule {
    /// What is said to whoever wants to change it though it is over.
    fn deleted(&self) -> Rejection {
        let (at, reason) = (timestamp(Time(self.head.deleted_at)), &self.head.delete_reason);
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Rejection::NotFound(format!("schedule not found: it was deleted at {at:.0}{why}"))
    }
}
