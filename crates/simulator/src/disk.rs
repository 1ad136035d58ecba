//! The world's one disk, which outlives every crash, and a server's faulty way to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_engine::{NamespaceKey, PartKey, ScheduleKey, Time};
use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::store::{Occurrence, RunHead, RunMessage, ScheduleHead};
use perennial_proto::temporal::history::v1::History;
use perennial_runtime::simulation::Clock;
use perennial_store::visibility::{Count, Page, Position, Query};
use perennial_store::{
    Batch, Epoch, Error, Fragment, HistoryRange, Lease, Log, LogLine, MemoryStore, RecordKind,
    RunWrite, ScheduleWrite, Store, StoredMessage, StoredRun, StoredSchedule, TaskRow, Wake,
};
use prost::Message;

use crate::audit::Auditor;
use crate::chance::Chance;
use crate::sabotage::Sabotage;
use crate::trace::Trace;

/// What all servers of a world share.
pub(crate) struct Disk {
    store: MemoryStore,
    state: Mutex<State>,
    clock: Clock,
    sabotage: Sabotage,
    auditor: Arc<Mutex<Auditor>>,
    trace: Arc<Mutex<Trace>>,
}

struct State {
    chance: Chance,
    is_faulty: bool,
    /// Batches whose writer was told that nobody knows: they may land yet.
    limbo: Vec<Vec<Batch>>,
    /// Of each cell the present owner, and its last batch that landed.
    owners: BTreeMap<u32, (Epoch, u64)>,
}

/// What becomes of a commit.
enum Fate {
    Lands,
    IsLost,
    /// It lands, and the answer is lost.
    LandsUnheard,
    /// The answer is lost, and it lands later or never.
    IsInLimbo,
    FindsNoRoom,
}

impl Disk {
    pub(crate) fn new(
        chance: Chance,
        clock: &Clock,
        sabotage: Sabotage,
        auditor: &Arc<Mutex<Auditor>>,
        trace: &Arc<Mutex<Trace>>,
    ) -> Arc<Self> {
        let state = State { chance, is_faulty: false, limbo: Vec::new(), owners: BTreeMap::new() };
        Arc::new(Self {
            store: MemoryStore::new(),
            state: Mutex::new(state),
            clock: clock.clone(),
            sabotage,
            auditor: Arc::clone(auditor),
            trace: Arc::clone(trace),
        })
    }

    /// What is committed.
    pub(crate) fn store(&self) -> &MemoryStore {
        &self.store
    }

    pub(crate) fn set_faulty(&self, is_faulty: bool) {
        self.lock().is_faulty = is_faulty;
    }

    /// A batch whose writer has long been told that nobody knows reaches the disk.
    pub(crate) fn land_late(&self) {
        let mut state = self.lock();
        if state.limbo.is_empty() {
            return;
        }
        let batches = state.limbo.remove(0);
        let landed = self.apply(&mut state, &batches);
        self.say(format!("world: a commit from limbo: {}", shown(&landed)));
    }

    /// One of the messages between runs that aren't known to have arrived.
    pub(crate) fn any_undelivered(&self, chance: &Chance) -> Option<RunMessage> {
        let undelivered = self.store.messages(i64::MIN, usize::MAX).ok()?;
        let message = chance.pick(&undelivered)?;
        RunMessage::decode(message.value.as_slice()).ok()
    }

    fn apply(&self, state: &mut State, batches: &[Batch]) -> Result<(), Error> {
        let forged = match self.sabotage {
            Sabotage::Fence => Some(forged(state, batches)),
            Sabotage::Progress | Sabotage::Watermark | Sabotage::Running => {
                Some(batches.iter().map(|batch| self.sabotage.spoil(batch)).collect())
            }
            Sabotage::None | Sabotage::Deduplication | Sabotage::WaitForCommit => None,
        };
        let batches = forged.as_deref().unwrap_or(batches);
        self.store.commit(batches)?;
        for batch in batches {
            state.owners.insert(batch.cell, (batch.epoch, batch.sequence));
        }
        for run in batches.iter().flat_map(|batch| &batch.runs) {
            self.say_what_is_new(run);
        }
        for schedule in batches.iter().flat_map(|batch| &batch.schedules) {
            self.say_what_became_of(schedule);
        }
        let mut auditor = self.auditor.lock().unwrap_or_else(PoisonError::into_inner);
        auditor.committed(self.clock.now(), batches);
        Ok(())
    }

    fn fate(state: &State) -> Fate {
        if !state.is_faulty {
            return Fate::Lands;
        }
        match state.chance.below(1_000) {
            0..15 => Fate::IsLost,
            15..35 => Fate::LandsUnheard,
            35..45 => Fate::IsInLimbo,
            45..50 => Fate::FindsNoRoom,
            _ => Fate::Lands,
        }
    }

    /// For whoever reads the trace: which events a run has now.
    fn say_what_is_new(&self, run: &RunWrite) {
        let head = run.head.as_ref().and_then(|head| RunHead::decode(head.as_slice()).ok());
        let head = head.unwrap_or_default();
        let mut text = format!("disk: {} {}:", head.workflow_id, head.run_id);
        for fragment in &run.history {
            let history = History::decode(&*fragment.bytes).unwrap_or_default();
            for event in history.events {
                let _ = write!(text, " {} {}", event.event_id, event.event_type().as_str_name());
            }
        }
        self.say(text.replace("EVENT_TYPE_", ""));
    }

    /// The same of a schedule: its verdicts and its audit stream.
    fn say_what_became_of(&self, schedule: &ScheduleWrite) {
        let head = schedule.head.as_ref().and_then(|it| ScheduleHead::decode(&**it).ok());
        let head = head.unwrap_or_default();
        let mut text = format!("disk: {} {}", head.schedule_id, head.incarnation);
        let _ = write!(text, " settled up to {}:", head.settled_up_to);
        for line in &schedule.log {
            let _ = match line.log {
                Log::Audit => {
                    let event = ScheduleEvent::decode(&*line.value).unwrap_or_default();
                    let event = format!("{:?}", event.event);
                    let name = event.split_once('(').map_or("", |(_, rest)| rest);
                    let name = name.split_once('(').map_or("", |(name, _)| name);
                    write!(text, " {} {name}", line.position)
                }
                Log::Ledger | Log::ManualLedger => {
                    let it = Occurrence::decode(&*line.value).unwrap_or_default();
                    let verdict = it.verdict();
                    let Occurrence { nominal_at, until, reason, run_id, due_at, .. } = it;
                    let (last, due) = (until - nominal_at, due_at - nominal_at);
                    let log = line.log;
                    write!(
                        text,
                        " {log:?} {nominal_at}+{last} due +{due} {verdict:?} {reason}{run_id};"
                    )
                }
            };
        }
        self.say(text);
    }

    fn say(&self, text: String) {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        trace.say(self.clock.now(), text);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The batches as the present owner would have numbered them.
fn forged(state: &State, batches: &[Batch]) -> Vec<Batch> {
    let mut owners = state.owners.clone();
    let forge = |batch: &Batch| {
        let (epoch, sequence) = owners.entry(batch.cell).or_insert((batch.epoch, 0));
        *sequence += 1;
        Batch { epoch: *epoch, sequence: *sequence, ..batch.clone() }
    };
    batches.iter().map(forge).collect()
}

/// One server's way to the disk.
pub(crate) struct Path {
    disk: Arc<Disk>,
    server: u64,
    /// Another server has the lock of the file.
    is_replaced: Arc<AtomicBool>,
}

impl Path {
    pub(crate) fn new(disk: &Arc<Disk>, server: u64) -> Self {
        Self { disk: Arc::clone(disk), server, is_replaced: Arc::default() }
    }

    /// Set when another server takes over.
    pub(crate) fn is_replaced(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_replaced)
    }

    fn readable(&self) -> Result<&MemoryStore, Error> {
        let state = self.disk.lock();
        if state.is_faulty && state.chance.permille(15) {
            return Err(away());
        }
        Ok(&self.disk.store)
    }
}

impl Store for Path {
    fn lease(&self, cell: u32) -> Result<Lease, Error> {
        if self.is_replaced.load(Ordering::SeqCst) {
            return Err(Error::Fenced("another server has the file".to_owned()));
        }
        let mut state = self.disk.lock();
        // Leases are rare, so they fail more often than commits.
        let is_heard = !state.is_faulty || !state.chance.permille(100);
        if !is_heard && state.chance.permille(500) {
            return Err(away());
        }
        let lease = self.disk.store.lease(cell)?;
        state.owners.insert(cell, (lease.epoch, 0));
        let mut auditor = self.disk.auditor.lock().unwrap_or_else(PoisonError::into_inner);
        auditor.leased(cell, lease.epoch, self.server);
        if is_heard { Ok(lease) } else { Err(away()) }
    }

    fn health(&self) -> Result<(), Error> {
        self.disk.store.health()
    }

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        let mut state = self.disk.lock();
        let (done, fate) = match Disk::fate(&state) {
            Fate::Lands => (self.disk.apply(&mut state, batches), ""),
            Fate::IsLost => (Err(away()), ", it is lost"),
            Fate::LandsUnheard => {
                let done = self.disk.apply(&mut state, batches).and_then(|()| Err(away()));
                (done, ", it landed or was refused, unheard")
            }
            Fate::IsInLimbo => {
                state.limbo.push(batches.to_vec());
                (Err(away()), ", it may land yet")
            }
            Fate::FindsNoRoom => (Err(Error::Full("no room".to_owned())), ""),
        };
        let of = |batch: &Batch| format!("{}.{}.{}", batch.cell, batch.epoch.0, batch.sequence);
        let batches: Vec<_> = batches.iter().map(of).collect();
        let (server, batches) = (self.server, batches.join(" "));
        let who = if done.is_ok() { "disk" } else { "world" };
        self.disk.say(format!("{who}: server {server} commits {batches}: {}{fate}", shown(&done)));
        done
    }

    fn load_run(
        &self,
        namespace: NamespaceKey,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Option<StoredRun>, Error> {
        let mut found = self.readable()?.load_run(namespace, workflow_id, run_id)?;
        if self.disk.sabotage == Sabotage::Deduplication
            && let Some(run) = &mut found
        {
            run.parts.retain(|(key, _)| !matches!(key, PartKey::Request(_)));
        }
        Ok(found)
    }

    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error> {
        self.readable()?.history(range, max_bytes, reverse)
    }

    fn load_schedule(
        &self,
        namespace: NamespaceKey,
        schedule_id: &str,
    ) -> Result<Option<StoredSchedule>, Error> {
        self.readable()?.load_schedule(namespace, schedule_id)
    }

    fn load_schedules(&self, keys: &[ScheduleKey]) -> Result<Vec<StoredSchedule>, Error> {
        self.readable()?.load_schedules(keys)
    }

    fn schedule_log(
        &self,
        key: ScheduleKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error> {
        self.readable()?.schedule_log(key, log, positions, limit, reverse)
    }

    fn wakes(&self, after: (Time, i64), up_to: Time, limit: usize) -> Result<Vec<Wake>, Error> {
        self.readable()?.wakes(after, up_to, limit)
    }

    fn tasks(&self, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error> {
        self.readable()?.tasks(after, limit)
    }

    fn messages(&self, after: i64, limit: usize) -> Result<Vec<StoredMessage>, Error> {
        self.readable()?.messages(after, limit)
    }

    fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        self.readable()?.records(kind, prefix, after, limit)
    }

    fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Result<Page, Error> {
        self.readable()?.list(namespace, query, page_size, after)
    }

    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error> {
        self.readable()?.count(namespace, query)
    }
}

fn away() -> Error {
    Error::Unavailable("the disk is away".to_owned())
}

fn shown(done: &Result<(), Error>) -> String {
    match done {
        Ok(()) => "durable".to_owned(),
        Err(error) => error.to_string(),
    }
}
