//! Schedules: what became of each of their times, and whether anyone was told otherwise.
//!
//! The auditor looks at what each commit writes of a schedule ([`commits`]), computes by arithmetic which
//! times there are ([`cadence`]), and, once the world has quiesced, holds both against each other
//! ([`verdicts`], [`lateness`], [`catch_up`], [`pauses`]), against the runs there are ([`starts`], [`overlap`]), against the
//! audit stream ([`stream`]) and against what clients were told ([`told`]). Nothing may be left over
//! ([`left_over`]).

mod cadence;
mod catch_up;
mod commits;
mod lateness;
mod left_over;
mod outages;
mod overlap;
mod pauses;
mod starts;
mod stream;
mod told;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_engine::{EntityKey, NamespaceKey, Time};
use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::store::{
    Backfill, Occurrence, PlannedStart, ScheduleConfig, ScheduleHead, ScheduleName, ScheduledRun,
};
use perennial_store::{CellId, Epoch, Log, MemoryStore, Store};
use prost::Message;

pub(crate) use self::told::ToldOfSchedule;

use self::outages::{Outages, Since};
use super::histories::Recorded;
use super::{RunSeen, Violation};

/// All schedules so far.
#[derive(Default)]
pub(super) struct Schedules {
    seen: BTreeMap<EntityKey, ScheduleSeen>,
    told: Vec<ToldOfSchedule>,
    /// Messages with which schedules end runs, by their keys.
    endings: BTreeMap<i64, Ending>,
    outages: Outages,
}

/// One incarnation of a schedule, as the commits so far show it.
struct ScheduleSeen {
    namespace: NamespaceKey,
    schedule_id: String,
    key: EntityKey,
    head: ScheduleHead,
    config: Arc<ScheduleConfig>,
    running: BTreeMap<String, ScheduledRun>,
    buffer: BTreeMap<i64, PlannedStart>,
    /// The latest state of each backfill, including forgotten ones.
    backfills: BTreeMap<i64, Backfill>,
    /// Every version of every ledger line.
    lines: BTreeMap<(Log, i64), Vec<Written>>,
    events: BTreeMap<i64, ScheduleEvent>,
}

/// A ledger line as one commit wrote it.
#[derive(Debug)]
struct Written {
    commit: u64,
    line: Occurrence,
    /// The configuration before and after the commit.
    configs: [Arc<ScheduleConfig>; 2],
    /// The configuration changed more than once in the commit, so the values in between are unknown.
    is_unclear: bool,
    /// A run was open or was started in this commit or just before it.
    was_busy: bool,
    /// Since when the writer evaluates; `None` if nothing can be missed.
    since: Option<Since>,
}

/// A message that ends a run.
struct Ending {
    schedule: EntityKey,
    first_run_id: String,
    /// The sender has received the answer.
    answered: Option<u64>,
}

/// The auditor's data about runs.
#[derive(Clone, Copy)]
pub(super) struct Others<'a> {
    pub(super) all: &'a BTreeMap<String, Recorded>,
    pub(super) runs: &'a BTreeMap<EntityKey, RunSeen>,
    pub(super) by_id: &'a BTreeMap<String, EntityKey>,
    pub(super) may_be_deleted: &'a BTreeSet<String>,
    pub(super) now: Time,
}

impl Others<'_> {
    fn seen(&self, run_id: &str) -> Option<&RunSeen> {
        self.runs.get(self.by_id.get(run_id)?)
    }
}

impl Schedules {
    /// Schedules are evaluated only on demand.
    pub(super) fn set_on_demand(&mut self) {
        self.outages.set_on_demand();
    }

    /// Notes that a cell of a server begins to evaluate.
    pub(super) fn began(&mut self, server: u64, cell: CellId, now: Time) {
        self.outages.began(server, cell, now.0);
    }

    /// Notes that a cell took its first turn after its machine slept.
    pub(super) fn woke(&mut self, server: u64, cell: CellId, now: Time) {
        self.outages.woke(server, cell, now.0);
    }

    /// Notes that the clock was put back.
    pub(super) fn put_back(&mut self, now: Time) {
        self.outages.put_back(now.0);
    }

    /// Notes that a server took a lease.
    pub(super) fn leased(&mut self, epoch: Epoch, server: u64, cell: CellId) {
        self.outages.leased(epoch, server, cell);
    }

    /// Schedules that haven't been deleted.
    pub(super) fn present(&self) -> Vec<ScheduleName> {
        let present = self.seen.values().filter(|it| it.head.deleted_at == 0);
        let name = |it: &ScheduleSeen| ScheduleName {
            namespace: it.namespace.0,
            schedule_id: it.schedule_id.clone(),
            key: it.key.0,
        };
        present.map(name).collect()
    }

    /// The checks for when the world has quiesced.
    pub(super) fn check_quiescent(
        &self,
        store: &MemoryStore,
        others: Others<'_>,
    ) -> Option<Violation> {
        let each =
            |check: &dyn Fn(&ScheduleSeen) -> Option<Violation>| self.seen.values().find_map(check);
        each(&|it| it.is_readable(store))
            .or_else(|| each(&stream::check))
            .or_else(|| each(&verdicts::check))
            .or_else(|| each(&lateness::check))
            .or_else(|| each(&|it| catch_up::check(it, &self.outages)))
            .or_else(|| each(&pauses::check))
            .or_else(|| each(&|it| overlap::check(it, others)))
            .or_else(|| each(&|it| starts::check(it, others)))
            .or_else(|| starts::check_origins(self, others))
            .or_else(|| overlap::check_endings(self, others))
            .or_else(|| self.told.iter().find_map(|told| self.hold_to(told, others)))
            .or_else(|| each(&|it| left_over::check(it, &self.outages, others)))
    }
}

impl ScheduleSeen {
    fn violation(&self, promise: &'static str, what: String) -> Violation {
        let (workflow_id, run_id) = (self.schedule_id.clone(), self.head.incarnation.clone());
        Violation { promise, workflow_id, run_id, what }
    }

    /// The present lines of a ledger, in order.
    fn ledger(&self, of: Log) -> impl Iterator<Item = &Occurrence> {
        let lines = self.lines.iter().filter(move |((log, _), _)| *log == of);
        lines.filter_map(|(_, versions)| versions.last()).map(|written| &written.line)
    }

    /// Checks that the store returns what was committed.
    fn is_readable(&self, store: &MemoryStore) -> Option<Violation> {
        let wrong =
            |what: &str| Some(self.violation("what was committed can be read", what.to_owned()));
        let Ok(stored) = store.load_by_keys(&[self.key]) else { return wrong("it isn't there") };
        let head = stored.first().and_then(|it| ScheduleHead::decode(it.head.as_slice()).ok());
        if head.as_ref() != Some(&self.head) {
            return wrong("its head differs");
        }
        for log in [Log::Ledger, Log::ManualLedger] {
            let range = (i64::MIN, i64::MAX);
            let lines = store.log(self.key, log, range, usize::MAX, false);
            let lines: Vec<_> = lines.unwrap_or_default();
            let decoded = lines.iter().filter_map(|it| Occurrence::decode(&*it.value).ok());
            if !decoded.eq(self.ledger(log).cloned()) {
                return wrong("a ledger differs");
            }
        }
        None
    }
}
