//! The auditor: holds what is stored against what anyone was told.
//!
//! It looks at every commit as it lands ([`commits`]), remembers what clients and workers were told
//! ([`told`]), and reads every history once the world has quiesced ([`histories`], [`between`]). It decodes
//! the API's messages itself and knows nothing of how the server comes to its decisions; only for the law
//! that a run's state is the fold of its history does it use the engine's fold ([`fold`]).

mod between;
mod commits;
mod fold;
mod histories;
mod schedules;
mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use perennial_engine::{EntityKey, NamespaceKey, SlotRange, Time};
use perennial_proto::store::{EntityMessage, RunName, ScheduleName};
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_store::{CellId, Epoch, MemoryStore, Store};
use prost::Message;

pub(crate) use self::schedules::ToldOfSchedule;
pub(crate) use self::told::{ActivityEnd, Told};

use self::histories::Recorded;

/// The length of a UUID as text.
const RUN_ID_LEN: usize = 36;

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub promise: &'static str,
    /// The workflow id, if it concerns a workflow.
    pub workflow_id: String,
    /// The run id, if it concerns a run.
    pub run_id: String,
    /// What was found.
    pub what: String,
}

impl Violation {
    /// The workflow and runs concerned, as the trace names them.
    pub(crate) fn concerned(&self) -> Vec<String> {
        let words = self.what.split(|c: char| !c.is_ascii_hexdigit() && c != '-');
        let others = words.filter(|word| word.len() == RUN_ID_LEN).map(str::to_owned);
        let own = [self.workflow_id.clone(), self.run_id.clone()];
        own.into_iter().filter(|word| !word.is_empty()).chain(others).collect()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { promise, workflow_id, run_id, what } = self;
        write!(f, "{promise}: {what}")?;
        if !run_id.is_empty() {
            write!(f, " ({workflow_id}, run {run_id})")?;
        }
        Ok(())
    }
}

/// The auditor; see the module's documentation.
#[derive(Default)]
pub(crate) struct Auditor {
    told: Vec<Told>,
    /// Who was given what, and by when it was told again.
    grants: BTreeSet<told::Grant>,
    runs: BTreeMap<EntityKey, RunSeen>,
    by_id: BTreeMap<String, EntityKey>,
    may_be_deleted: BTreeSet<String>,
    started_again: BTreeSet<String>,
    schedules: schedules::Schedules,
    /// The number of commits so far.
    commits: u64,
    violation: Option<Violation>,
}

/// A run as the commits so far show it.
#[derive(Debug, Clone)]
struct RunSeen {
    namespace: NamespaceKey,
    workflow_id: String,
    run_id: String,
    status: WorkflowExecutionStatus,
    last_event_id: i64,
    is_deleted: bool,
    /// The numbers of the commits in which the run was created and closed.
    opened: u64,
    closed: Option<u64>,
}

impl RunSeen {
    fn is_open(&self) -> bool {
        let is_running = matches!(
            self.status,
            WorkflowExecutionStatus::Running | WorkflowExecutionStatus::Paused
        );
        is_running && !self.is_deleted
    }
}

impl Auditor {
    /// The first violation that was found.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Runs that haven't closed.
    pub(crate) fn open_runs(&self) -> Vec<RunName> {
        let open = self.runs.values().filter(|run| run.is_open());
        open.map(|run| RunName {
            namespace: run.namespace.0,
            workflow_id: run.workflow_id.clone(),
            run_id: run.run_id.clone(),
            first_run_id: String::new(),
        })
        .collect()
    }

    /// Whether a client has asked for the run's deletion.
    pub(crate) fn may_be_deleted(&self, run_id: &str) -> bool {
        self.may_be_deleted.contains(run_id)
    }

    /// Notes that the message that starts the run was delivered a second time.
    pub(crate) fn started_again(&mut self, run_id: &str) {
        self.started_again.insert(run_id.to_owned());
    }

    /// Whether the message that starts the run was delivered a second time, and may arrive late.
    pub(crate) fn may_be_started_again(&self, run_id: &str) -> bool {
        self.started_again.contains(run_id)
    }

    /// Whether the run doesn't exist, and another one has its workflow id.
    pub(crate) fn may_be_refused(&self, workflow_id: &str, run_id: &str) -> bool {
        !self.by_id.contains_key(run_id)
            && self.runs.values().any(|run| run.workflow_id == workflow_id)
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Notes a reply that a client or worker received.
    pub(crate) fn told(&mut self, _at: Time, told: Told) {
        if let Some(violation) = self.look_at_once(&told) {
            self.report(violation);
        }
        self.told.push(told);
    }

    /// Notes a reply about a schedule.
    pub(crate) fn told_of_schedule(&mut self, told: ToldOfSchedule) {
        let found = self.schedules.told(told);
        found.into_iter().for_each(|violation| self.report(violation));
    }

    /// Schedules are evaluated only on demand.
    pub(crate) fn set_on_demand(&mut self) {
        self.schedules.set_on_demand();
    }

    /// Notes that a server began, with these cells.
    pub(crate) fn server_began(&mut self, server: u64, cells: Vec<CellId>, now: Time) {
        cells.into_iter().for_each(|cell| self.schedules.began(server, cell, now));
    }

    /// Notes that a cell took its first turn after its machine slept.
    pub(crate) fn cell_woke(&mut self, server: u64, cell: CellId, now: Time) {
        self.schedules.woke(server, cell, now);
    }

    /// Notes that the clock was put back.
    pub(crate) fn clock_put_back(&mut self, now: Time) {
        self.schedules.put_back(now);
    }

    /// Notes that a server took the lease of a cell.
    pub(crate) fn leased(&mut self, epoch: Epoch, server: u64, cell: CellId) {
        self.schedules.leased(epoch, server, cell);
    }

    /// Schedules that exist.
    pub(crate) fn schedules(&self) -> Vec<ScheduleName> {
        self.schedules.present()
    }

    /// Checks at a moment when no actor has anything to do.
    pub(crate) fn check_idle(&mut self, now: Time) {
        let found = self.schedules.check_idle(now.0);
        found.into_iter().for_each(|violation| self.report(violation));
    }

    /// Checks that the stored state of each run is the fold of its history.
    pub(crate) fn check_folds(&mut self, store: &MemoryStore) {
        // Closed runs are checked once, at the end.
        match self.read(store, RunSeen::is_open) {
            Ok(all) => {
                let found = all.values().find_map(fold::check);
                found.into_iter().for_each(|violation| self.report(violation));
            }
            Err(violation) => self.report(violation),
        }
    }

    /// The checks for when the world has quiesced.
    pub(crate) fn check_quiescent(&mut self, store: &MemoryStore, now: Time) {
        let all = match self.read(store, |run| !run.is_deleted) {
            Ok(all) => all,
            Err(violation) => return self.report(violation),
        };
        let undelivered = store
            .messages(SlotRange::ALL, i64::MIN, 1)
            .ok()
            .and_then(|messages| messages.into_iter().next());
        let stuck = self.runs.values().find(|run| run.is_open());
        let others = schedules::Others {
            all: &all,
            runs: &self.runs,
            by_id: &self.by_id,
            may_be_deleted: &self.may_be_deleted,
            now,
        };
        let found = (all.values().find_map(histories::check))
            .or_else(|| all.values().find_map(fold::check))
            .or_else(|| all.values().find_map(|run| between::check(run, &all, self)))
            .or_else(|| self.told.iter().find_map(|told| self.hold_to(told, &all)))
            .or_else(|| {
                stuck.map(|run| run.violation("nothing is stuck", left_over(all.get(&run.run_id))))
            })
            .or_else(|| {
                undelivered.map(|stored| {
                    let message =
                        EntityMessage::decode(stored.value.as_slice()).unwrap_or_default();
                    let target = message.target.unwrap_or_default();
                    Violation {
                        promise: "messages arrive",
                        workflow_id: target.id,
                        run_id: message.sender.unwrap_or_default().run_id,
                        what: format!(
                            "{} is undelivered though everyone is there",
                            message.request_id
                        ),
                    }
                })
            })
            .or_else(|| self.schedules.check_quiescent(store, others));
        found.into_iter().for_each(|violation| self.report(violation));
    }

    pub(crate) fn report(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
    }

    fn read(
        &self,
        store: &MemoryStore,
        which: impl Fn(&RunSeen) -> bool,
    ) -> Result<BTreeMap<String, Recorded>, Violation> {
        let present = self.runs.iter().filter(|(_, run)| which(run));
        present
            .map(|(key, run)| Ok((run.run_id.clone(), Recorded::read(store, *key, run)?)))
            .collect()
    }

    /// Whether a run of this workflow id may have been deleted, so that most checks don't apply.
    fn may_lack_runs(&self, workflow_id: &str) -> bool {
        let mut runs = self.runs.values().filter(|run| run.workflow_id == workflow_id);
        runs.any(|run| self.may_be_deleted.contains(&run.run_id))
    }
}

/// Describes what a run that should have closed waits for.
fn left_over(recorded: Option<&Recorded>) -> String {
    let Some(recorded) = recorded else { return "it isn't there".to_owned() };
    let run = &recorded.run;
    let task = run.head.workflow_task.as_ref();
    let task = task.map(|task| (task.scheduled_event_id, task.attempt, task.started_at != 0));
    format!(
        "everyone did their best to finish it; it begins with {} events of another run, and has the \
         workflow task {task:?}, activities {:?}, timers {:?}, children {:?}, signals {:?}, cancels {:?}",
        recorded.first_own_event_id - 1,
        run.activities.keys().collect::<Vec<_>>(),
        run.timers.keys().collect::<Vec<_>>(),
        run.children.iter().map(|(id, child)| (id, &child.run_id)).collect::<Vec<_>>(),
        run.signals.keys().collect::<Vec<_>>(),
        run.cancels.keys().collect::<Vec<_>>(),
    )
}

impl RunSeen {
    fn violation(&self, promise: &'static str, what: String) -> Violation {
        let (workflow_id, run_id) = (self.workflow_id.clone(), self.run_id.clone());
        Violation { promise, workflow_id, run_id, what }
    }
}
