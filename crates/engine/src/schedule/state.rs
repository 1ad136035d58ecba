//! The state of a schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_proto::perennial::ScheduleExtensions;
use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;

use super::times::{Next, Times, timestamp};
use crate::run::Rejection;
use crate::{EntityId, EntityKey, NamespaceKey, SharedMap, Span, Time};

/// The state of a schedule. Cheap to clone: copies share their parts.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The key of this incarnation of the schedule id.
    pub key: EntityKey,
    /// The fields that change with almost every step.
    pub head: stored::ScheduleHead,
    /// The configuration, as users gave it.
    pub config: Arc<stored::ScheduleConfig>,
    /// The last result and the last failure, which the next run receives.
    pub outcome: Arc<stored::LastOutcome>,
    /// Open runs that the schedule started, by their run ids.
    pub running: SharedMap<String, Arc<stored::ScheduledRun>>,
    /// Starts that wait for runs to end, by sequence number.
    pub buffer: SharedMap<i64, Arc<stored::PlannedStart>>,
    /// Backfills, including the latest finished ones.
    pub backfills: SharedMap<i64, Arc<stored::Backfill>>,
    /// Nominal times in the future that a backfill has already started.
    pub ahead: Arc<BTreeSet<i64>>,
    /// The schedule's times, compiled from the configuration.
    pub times: Times,
}

/// The status of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The schedule starts runs when its times come.
    Active,
    /// The schedule starts runs only on request.
    Paused,
    /// The schedule can't act, because its spec no longer compiles.
    Broken,
    /// The schedule was deleted; only its ledger and audit stream are left.
    Deleted,
}

impl Schedule {
    /// The schedule's status.
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

    /// Returns the schedule, or the error for a deleted one.
    pub fn present(&self) -> Result<&Self, Rejection> {
        match self.status() {
            Status::Deleted => Err(self.deleted()),
            Status::Active | Status::Paused | Status::Broken => Ok(self),
        }
    }

    /// The entity id.
    pub fn id(&self) -> EntityId {
        EntityId::schedule(NamespaceKey(self.head.namespace), self.head.schedule_id.as_str())
    }

    /// The address for messages to the schedule.
    pub fn address(&self) -> stored::Address {
        self.name().into()
    }

    /// The name of the schedule in messages.
    pub fn name(&self) -> stored::ScheduleName {
        stored::ScheduleName {
            namespace: self.head.namespace,
            schedule_id: self.head.schedule_id.clone(),
            key: self.key.0,
        }
    }

    /// The overlap policy of a start: its own, or the schedule's.
    pub fn overlap_policy(&self, of_start: ScheduleOverlapPolicy) -> ScheduleOverlapPolicy {
        match of_start {
            ScheduleOverlapPolicy::Unspecified => match self.config.overlap_policy() {
                ScheduleOverlapPolicy::Unspecified => ScheduleOverlapPolicy::Skip,
                given => given,
            },
            given => given,
        }
    }

    /// The settings that only Perennial has.
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

    /// The labels, each as `key=value`, by which lists find the schedule and its runs.
    pub fn labels(&self) -> Vec<String> {
        self.extensions().labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// The catch-up window: the greatest delay of a start.
    pub(crate) fn catchup_window(&self) -> Span {
        if self.extensions().unlimited_catchup {
            return Span(i64::MAX);
        }
        Span(self.config.catchup_window_nanos)
    }

    /// Whether the schedule starts runs when its times come.
    pub(crate) fn is_acting(&self) -> bool {
        self.head.deleted_at == 0 && !self.head.paused && !self.is_exhausted()
    }

    /// When the next scheduled start is due, if there is one.
    pub fn next_due(&self) -> Option<Time> {
        if !self.is_acting() {
            return None;
        }
        match self.times.after(Time(self.head.settled_up_to)) {
            Next::At(moment) => Some(moment.due),
            Next::NoneUpTo(_) | Next::Never => None,
        }
    }

    /// The next due times after `now`, at most `count`, and no more than scheduled starts are left.
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
    /// The open runs that users can see: without unanswered starts, and without runs that have ended but still count
    /// as open for earlier times.
    pub fn started_runs(&self) -> impl Iterator<Item = &Arc<stored::ScheduledRun>> {
        self.running.values().filter(|run| run.is_started && run.closed_at == 0)
    }

    /// The latest starts, without unanswered ones.
    pub fn recent_actions(&self) -> impl Iterator<Item = &stored::RecentAction> {
        self.head.recent_actions.iter().filter(|action| !self.is_start_unanswered(&action.run_id))
    }

    /// The number of runs started.
    pub fn action_count(&self) -> i64 {
        let on_their_way = self.running.values().filter(|run| !run.is_started).count();
        self.head.action_count - i64::try_from(on_their_way).unwrap_or(0)
    }

    /// Whether the start of a run hasn't been answered.
    pub fn is_start_unanswered(&self, run_id: &str) -> bool {
        self.running.get(run_id).is_some_and(|run| !run.is_started)
    }
}

impl Schedule {
    /// The error for commands to a deleted schedule.
    fn deleted(&self) -> Rejection {
        let (at, reason) = (timestamp(Time(self.head.deleted_at)), &self.head.delete_reason);
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Rejection::NotFound(format!("schedule not found: it was deleted at {at:.0}{why}"))
    }
}
