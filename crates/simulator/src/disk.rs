//! The simulated disk, which survives every crash, and each server's faulty connection to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_engine::{Kind, PartId, RunPart, SlotRange};
use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::store::{EntityMessage, Occurrence, RunHead, ScheduleHead};
use perennial_proto::temporal::history::v1::History;
use perennial_runtime::simulation::Clock;
use perennial_store::{
    Batch, CellId, EntityWrite, Epoch, Error, Lease, Log, MemoryStore, Read, RecordWrite, Store,
    StoreWrapper, StoredEntity,
};
use prost::Message;

use crate::audit::Auditor;
use crate::chance::Chance;
use crate::sabotage::Sabotage;
use crate::trace::Trace;

/// The disk that all servers of a world share.
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
    /// Batches whose writer got an unknown outcome: they may still be committed.
    limbo: Vec<Vec<Batch>>,
    /// The present owner of each cell, and its last committed batch.
    owners: BTreeMap<CellId, (Epoch, u64)>,
}

/// The outcome of a commit.
enum Fate {
    Lands,
    IsLost,
    /// The batch is committed, and the reply is lost.
    LandsUnheard,
    /// The reply is lost, and the batch is committed later or never.
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

    /// The committed state.
    pub(crate) fn store(&self) -> &MemoryStore {
        &self.store
    }

    pub(crate) fn set_faulty(&self, is_faulty: bool) {
        self.lock().is_faulty = is_faulty;
    }

    /// Commits a batch whose writer got an unknown outcome long ago.
    pub(crate) fn land_late(&self) {
        let mut state = self.lock();
        if state.limbo.is_empty() {
            return;
        }
        let batches = state.limbo.remove(0);
        let landed = self.apply(&mut state, &batches);
        self.say(format!("world: a commit from limbo: {}", shown(&landed)));
    }

    /// A message between entities that isn't known to have arrived.
    pub(crate) fn any_undelivered(&self, chance: &Chance) -> Option<EntityMessage> {
        let undelivered = self.store.messages(SlotRange::ALL, i64::MIN, usize::MAX).ok()?;
        let message = chance.pick(&undelivered)?;
        EntityMessage::decode(message.value.as_slice()).ok()
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
        for entity in batches.iter().flat_map(|batch| &batch.entities) {
            match entity.kind {
                Kind::Run => self.say_events(entity),
                Kind::Schedule => self.say_verdicts(entity),
            }
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

    /// Writes a run's latest events to the trace.
    fn say_events(&self, run: &EntityWrite) {
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

    /// Writes a schedule's verdicts and audit events to the trace.
    fn say_verdicts(&self, schedule: &EntityWrite) {
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

/// The batches with the numbers that the present owner would give them.
fn forged(state: &State, batches: &[Batch]) -> Vec<Batch> {
    let mut owners = state.owners.clone();
    let forge = |batch: &Batch| {
        let (epoch, sequence) = owners.entry(batch.cell).or_insert((batch.epoch, 0));
        *sequence += 1;
        Batch { epoch: *epoch, sequence: *sequence, ..batch.clone() }
    };
    batches.iter().map(forge).collect()
}

/// One server's connection to the disk.
pub(crate) struct Path {
    disk: Arc<Disk>,
    server: u64,
    /// Whether another server has the lock of the file.
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
}

impl StoreWrapper for Path {
    fn inner(&self) -> &dyn Store {
        &self.disk.store
    }

    fn before_read(&self, _: Read) -> Result<(), Error> {
        let state = self.disk.lock();
        if state.is_faulty && state.chance.permille(15) { Err(away()) } else { Ok(()) }
    }

    fn on_divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        if self.is_replaced.load(Ordering::SeqCst) {
            return Err(Error::Fenced("another server has the file".to_owned()));
        }
        self.disk.lock().owners.clear();
        self.disk.say(format!("world: the slots are divided into {} cells", ranges.len()));
        self.disk.store.divide(ranges)
    }

    fn on_lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        if self.is_replaced.load(Ordering::SeqCst) {
            return Err(Error::Fenced("another server has the file".to_owned()));
        }
        let mut state = self.disk.lock();
        // Leases are rare, so they fail more often than commits.
        let is_heard = !state.is_faulty || !state.chance.permille(100);
        if !is_heard && state.chance.permille(500) {
            return Err(away());
        }
        let lease = self.disk.store.lease(cell, owner)?;
        state.owners.insert(cell, (lease.epoch, 0));
        let mut auditor = self.disk.auditor.lock().unwrap_or_else(PoisonError::into_inner);
        auditor.leased(lease.epoch, self.server, cell);
        if is_heard { Ok(lease) } else { Err(away()) }
    }

    fn on_compare_and_set(
        &self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> Result<bool, Error> {
        if self.is_replaced.load(Ordering::SeqCst) {
            return Err(Error::Fenced("another server has the file".to_owned()));
        }
        self.before_read(Read::Records)?;
        self.disk.store.compare_and_set(record, expected)
    }

    fn on_commit(&self, batches: &[Batch]) -> Result<(), Error> {
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

    fn on_loaded(&self, entity: &mut StoredEntity) {
        if self.disk.sabotage == Sabotage::Deduplication {
            let is_request =
                |part: &PartId| matches!(RunPart::from_row_id(part), Some(RunPart::Request(_)));
            entity.parts.retain(|(part, _)| !is_request(part));
        }
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
