//! The runs a cell has in memory, and the requests that wait for one to be loaded.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use perennial_engine::run::{Run, Unreadable};
use perennial_engine::{PartKey, RunKey};
use perennial_store::{Error, Fragment, StoredRun};
use prost::Message;

use super::messages::run_to_start;
use super::pages::Pages;
use super::queries::Queries;
use super::request::{Incoming, ReplyTo, Request};
use super::updates::Updates;

/// Bytes of history a cached run keeps at hand: enough for a worker that keeps up.
const RECENT_BYTES: usize = 16 * 1024;
/// What a run takes beside its payloads, and what each of its parts does: a guess, on the high side.
const RUN_BYTES: usize = 4 * 1024;
const PART_BYTES: usize = 512;
/// Closed runs kept in memory: someone may ask for one's result, or start its workflow id again.
const CLOSED_KEPT: usize = 500;

/// A run to be loaded: by its id, or whichever is current.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedRun {
    pub(crate) namespace: i64,
    pub(crate) workflow_id: String,
    pub(crate) run_id: Option<String>,
}

/// Where a request's run is.
pub(crate) enum Resolved {
    Found(RunKey),
    /// There is no such run.
    Absent,
    /// Nobody knows before it is loaded.
    Wanted(WantedRun),
}

/// A run that couldn't be loaded, and the requests that wait for it.
pub(super) struct Unloaded {
    pub(super) waiting: Vec<Incoming>,
    /// If it is [`Error::Corrupt`], asking again won't help.
    pub(super) why: Error,
}

/// A run in memory, and what is attached to it but never stored.
pub(super) struct Cached {
    pub(super) run: Arc<Run>,
    pub(super) is_current: bool,
    /// Fragments of its history up to its last event, without a gap.
    pub(super) recent: VecDeque<Fragment>,
    recent_bytes: usize,
    /// Of its state, without what is attached to it.
    state_bytes: usize,
    pub(super) watchers: Vec<(i64, ReplyTo)>,
    pub(super) queries: Queries,
    pub(super) updates: Updates,
    pub(super) pages: Pages,
    state: Commit,
    last_used: u64,
}

/// How far what is in memory is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commit {
    Durable,
    InFlight,
    Open,
}

/// Where a reply that saw a run or a schedule has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFor {
    Nothing,
    BatchInFlight,
    OpenBatch,
}

impl From<Commit> for WaitFor {
    fn from(state: Commit) -> Self {
        match state {
            Commit::Durable => Self::Nothing,
            Commit::InFlight => Self::BatchInFlight,
            Commit::Open => Self::OpenBatch,
        }
    }
}

type WorkflowName = (i64, String);

#[derive(Default)]
struct Workflow {
    /// `None`: not known. `Some(None)`: there is no run.
    current: Option<Option<RunKey>>,
    /// Runs by their ids; `None` where there is none of that id.
    runs: HashMap<String, Option<RunKey>>,
}

pub(super) struct Cache {
    capacity: usize,
    bytes_max: usize,
    /// Of all runs.
    bytes: usize,
    workflows: HashMap<WorkflowName, Workflow>,
    runs: HashMap<RunKey, Cached>,
    by_use: BTreeMap<u64, RunKey>,
    tick: u64,
    /// In order, so that a cell that ends answers in the same order each time.
    parked: BTreeMap<WantedRun, Vec<Incoming>>,
    open: Vec<RunKey>,
    in_flight: Vec<RunKey>,
    /// Runs that have closed, durably, in that order.
    closed: VecDeque<RunKey>,
    /// Workflow ids about which something is known not to exist: forgotten soon, or asking for what
    /// doesn't exist would fill the memory.
    absent: Vec<WorkflowName>,
}

impl Cache {
    pub(super) fn new(capacity: usize, bytes_max: usize) -> Self {
        Self {
            capacity,
            bytes_max,
            bytes: 0,
            workflows: HashMap::new(),
            runs: HashMap::new(),
            by_use: BTreeMap::new(),
            tick: 0,
            parked: BTreeMap::new(),
            open: Vec::new(),
            in_flight: Vec::new(),
            closed: VecDeque::new(),
            absent: Vec::new(),
        }
    }

    /// `is_unseen`: a message that can't have come before.
    pub(super) fn resolve(&mut self, request: &Request, is_unseen: bool) -> Resolved {
        let Some(target) = request.target() else { return Resolved::Absent };
        let name = (target.namespace, target.workflow_id);
        // A run that is to be started may have been, under the run id its sender chose.
        if let Request::Deliver { message } = request
            && !is_unseen
            && let Some(run_id) = run_to_start(message)
        {
            match self.look_up(&name, run_id) {
                Some(None) => {}
                known => return self.resolved(name, run_id.to_owned(), known),
            }
        }
        // A reset is about two runs: the one it starts from, and the current one.
        if matches!(request, Request::Reset { .. }) && self.look_up(&name, "").is_none() {
            return self.resolved(name, String::new(), None);
        }
        let known = self.look_up(&name, &target.run_id);
        self.resolved(name, target.run_id, known)
    }

    /// The current run of a run's workflow id, if it is known.
    pub(super) fn current_of(&self, run: &Run) -> Option<RunKey> {
        let name = (run.head.namespace, run.head.workflow_id.clone());
        self.look_up(&name, "").flatten()
    }

    /// `None`: not known. `Some(None)`: there is none.
    fn look_up(&self, name: &WorkflowName, run_id: &str) -> Option<Option<RunKey>> {
        let workflow = self.workflows.get(name)?;
        if run_id.is_empty() { workflow.current } else { workflow.runs.get(run_id).copied() }
    }

    fn resolved(
        &mut self,
        name: WorkflowName,
        run_id: String,
        known: Option<Option<RunKey>>,
    ) -> Resolved {
        match known {
            Some(Some(key)) => {
                self.touch(key);
                Resolved::Found(key)
            }
            Some(None) => Resolved::Absent,
            None => Resolved::Wanted(WantedRun {
                namespace: name.0,
                workflow_id: name.1,
                run_id: (!run_id.is_empty()).then_some(run_id),
            }),
        }
    }

    /// Puts a request aside until its run is loaded. True if it is the first to wait for it.
    pub(super) fn park(&mut self, wanted: WantedRun, incoming: Incoming) -> bool {
        let waiting = self.parked.entry(wanted).or_default();
        waiting.push(incoming);
        waiting.len() == 1
    }

    /// Takes what was loaded. Returns the requests that waited for it.
    pub(super) fn loaded(
        &mut self,
        wanted: &WantedRun,
        found: Result<Option<StoredRun>, Error>,
    ) -> Result<Vec<Incoming>, Unloaded> {
        let waiting = self.parked.remove(wanted).unwrap_or_default();
        let name = (wanted.namespace, wanted.workflow_id.clone());
        let key = match found {
            Ok(None) => None,
            Ok(Some(stored)) => match self.insert_loaded(stored) {
                Ok(key) => Some(key),
                Err(error) => {
                    let why = Error::Corrupt(error.to_string());
                    return Err(Unloaded { waiting, why });
                }
            },
            Err(why) => return Err(Unloaded { waiting, why }),
        };
        if key.is_none() {
            self.absent.push(name.clone());
        }
        let workflow = self.workflows.entry(name).or_default();
        match (&wanted.run_id, key) {
            // Created since it was asked for: what is in memory is newer.
            (None, _) if workflow.current.is_some() => {}
            (None, key) => workflow.current = Some(key),
            (Some(run_id), key) => {
                workflow.runs.entry(run_id.clone()).or_insert(key);
            }
        }
        Ok(waiting)
    }

    fn insert_loaded(&mut self, stored: StoredRun) -> Result<RunKey, Unreadable> {
        let key = stored.key;
        if self.runs.contains_key(&key) {
            return Ok(key);
        }
        let parts = stored.parts.iter().map(|(key, value)| (key, value.as_slice()));
        let run = Run::from_rows(key, &stored.head, parts, &stored.first_fragment.bytes)?;
        // A run may have been created since this one was read: what is known is newer.
        let name = (run.head.namespace, run.head.workflow_id.clone());
        let is_current = stored.is_current && self.look_up(&name, "").is_none();
        self.insert(Arc::new(run), is_current);
        Ok(key)
    }

    /// Puts a run in, new or loaded.
    pub(super) fn insert(&mut self, run: Arc<Run>, is_current: bool) {
        let key = run.key;
        let name = (run.head.namespace, run.head.workflow_id.clone());
        let workflow = self.workflows.entry(name).or_default();
        if is_current
            && let Some(Some(before)) = workflow.current.replace(Some(key))
            && before != key
            && let Some(before) = self.runs.get_mut(&before)
        {
            before.is_current = false;
        }
        workflow.runs.insert(run.head.run_id.clone(), Some(key));
        self.tick += 1;
        self.by_use.insert(self.tick, key);
        let state_bytes = state_bytes(&run);
        self.bytes += state_bytes;
        let cached = Cached {
            run,
            is_current,
            recent: VecDeque::new(),
            recent_bytes: 0,
            state_bytes,
            watchers: Vec::new(),
            queries: Queries::default(),
            updates: Updates::default(),
            pages: Pages::default(),
            state: Commit::Durable,
            last_used: self.tick,
        };
        self.runs.insert(key, cached);
    }

    pub(super) fn get(&self, key: RunKey) -> Option<&Cached> {
        self.runs.get(&key)
    }

    pub(super) fn get_mut(&mut self, key: RunKey) -> Option<&mut Cached> {
        self.runs.get_mut(&key)
    }

    /// Takes a run as a step left it, with the events of the step.
    pub(super) fn stepped<'a>(
        &mut self,
        run: Arc<Run>,
        touched: impl Iterator<Item = &'a PartKey>,
        fragments: Vec<Fragment>,
    ) {
        let Some(cached) = self.runs.get_mut(&run.key) else { return };
        let (mut added, mut removed) = (run.head.encoded_len(), cached.run.head.encoded_len());
        for part in touched {
            added += part_bytes(&run, part);
            removed += part_bytes(&cached.run, part);
        }
        let bytes_before = cached.bytes();
        cached.state_bytes = (cached.state_bytes + added).saturating_sub(removed);
        cached.run = run;
        fragments.into_iter().for_each(|fragment| cached.keep_recent(fragment));
        self.bytes = (self.bytes + cached.bytes()).saturating_sub(bytes_before);
    }

    /// Notes that the run in memory is ahead of the store.
    pub(super) fn changed(&mut self, key: RunKey) {
        if let Some(cached) = self.runs.get_mut(&key)
            && cached.state != Commit::Open
        {
            cached.state = Commit::Open;
            self.open.push(key);
        }
    }

    pub(super) fn wait_for(&self, key: RunKey) -> WaitFor {
        self.runs.get(&key).map_or(WaitFor::Nothing, |cached| cached.state.into())
    }

    /// The open batch is on its way.
    pub(super) fn sealed(&mut self) {
        self.in_flight = std::mem::take(&mut self.open);
        for key in &self.in_flight {
            if let Some(cached) = self.runs.get_mut(key) {
                cached.state = Commit::InFlight;
            }
        }
    }

    /// The batch on its way has arrived.
    pub(super) fn committed(&mut self) {
        for key in std::mem::take(&mut self.in_flight) {
            if let Some(cached) = self.runs.get_mut(&key)
                && cached.state == Commit::InFlight
            {
                cached.state = Commit::Durable;
                if !cached.run.is_open() {
                    self.closed.push_back(key);
                }
            }
        }
    }

    /// Forgets a run that was deleted.
    pub(super) fn remove(&mut self, key: RunKey) -> Option<Cached> {
        let cached = self.runs.remove(&key)?;
        self.bytes = self.bytes.saturating_sub(cached.bytes());
        self.by_use.remove(&cached.last_used);
        let name = (cached.run.head.namespace, cached.run.head.workflow_id.clone());
        if let Some(workflow) = self.workflows.get_mut(&name) {
            workflow.runs.insert(cached.run.head.run_id.clone(), None);
            if workflow.current == Some(Some(key)) {
                workflow.current = Some(None);
            }
            self.absent.push(name);
        }
        Some(cached)
    }

    fn touch(&mut self, key: RunKey) {
        let Some(cached) = self.runs.get_mut(&key) else { return };
        self.by_use.remove(&cached.last_used);
        self.tick += 1;
        cached.last_used = self.tick;
        self.by_use.insert(self.tick, key);
    }

    /// Drops what closed or was used longest ago, as long as there is too much, and never what isn't durable
    /// or has someone waiting on it.
    pub(super) fn evict(&mut self) {
        self.forget_absent();
        while self.closed.len() > CLOSED_KEPT || (self.has_too_much() && !self.closed.is_empty()) {
            if let Some(key) = self.closed.pop_front()
                && self.is_free(key)
            {
                self.forget(key);
            }
        }
        let mut looked_at = 0;
        while self.has_too_much() && looked_at < 64 {
            looked_at += 1;
            let Some((_, &key)) = self.by_use.first_key_value() else { return };
            if self.is_free(key) {
                self.forget(key);
            } else {
                self.touch(key);
            }
        }
    }

    /// More runs than there should be, or more bytes of them. A run that is alone may be of any size.
    fn has_too_much(&self) -> bool {
        self.runs.len() > self.capacity || (self.bytes > self.bytes_max && self.runs.len() > 1)
    }

    /// Bytes of all runs in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_free(&mut self, key: RunKey) -> bool {
        let Some(cached) = self.runs.get_mut(&key) else { return false };
        cached.watchers.retain(|(_, reply)| !reply.is_gone());
        cached.queries.forget_gone();
        cached.updates.forget_gone();
        cached.state == Commit::Durable
            && cached.watchers.is_empty()
            && cached.queries.is_empty()
            && cached.updates.is_empty()
            && cached.pages.is_empty()
            // What is being read for the same workflow may be older than what would be forgotten.
            && !is_asked_for(&self.parked, cached.run.head.namespace, &cached.run.head.workflow_id)
    }

    fn forget_absent(&mut self) {
        let parked = &self.parked;
        let (keep, drop): (Vec<_>, Vec<_>) = std::mem::take(&mut self.absent)
            .into_iter()
            .partition(|(namespace, workflow_id)| is_asked_for(parked, *namespace, workflow_id));
        self.absent = keep;
        for name in drop {
            let Some(workflow) = self.workflows.get_mut(&name) else { continue };
            workflow.runs.retain(|_, key| key.is_some());
            if workflow.current == Some(None) {
                workflow.current = None;
            }
            if workflow.runs.is_empty() && workflow.current.is_none() {
                self.workflows.remove(&name);
            }
        }
    }

    fn forget(&mut self, key: RunKey) {
        let Some(cached) = self.runs.remove(&key) else { return };
        self.bytes = self.bytes.saturating_sub(cached.bytes());
        self.by_use.remove(&cached.last_used);
        let name = (cached.run.head.namespace, cached.run.head.workflow_id.clone());
        if let Some(workflow) = self.workflows.get_mut(&name) {
            workflow.runs.remove(&cached.run.head.run_id);
            workflow.runs.retain(|_, key| key.is_some());
            if workflow.current == Some(Some(key)) || workflow.current == Some(None) {
                workflow.current = None;
            }
            if workflow.runs.is_empty() {
                self.workflows.remove(&name);
            }
        }
    }

    pub(super) fn take_parked(&mut self) -> Vec<Incoming> {
        std::mem::take(&mut self.parked).into_values().flatten().collect()
    }
}

impl Cached {
    fn bytes(&self) -> usize {
        self.state_bytes + self.recent_bytes
    }

    fn keep_recent(&mut self, fragment: Fragment) {
        self.recent_bytes += fragment.bytes.len();
        self.recent.push_back(fragment);
        while self.recent_bytes > RECENT_BYTES && self.recent.len() > 1 {
            if let Some(oldest) = self.recent.pop_front() {
                self.recent_bytes -= oldest.bytes.len();
            }
        }
    }

    /// Its history from an event on, if all of that is at hand.
    pub(super) fn recent_from(&self, first_event_id: i64) -> Vec<Fragment> {
        let reaches_back =
            self.recent.front().is_some_and(|oldest| oldest.first_event_id <= first_event_id);
        if !reaches_back {
            return Vec::new();
        }
        let begins = self.recent.partition_point(|it| it.last_event_id < first_event_id);
        self.recent.range(begins..).cloned().collect()
    }
}

fn state_bytes(run: &Run) -> usize {
    let parts: usize = run.part_keys().map(|part| part_bytes(run, &part)).sum();
    RUN_BYTES + run.head.encoded_len() + run.started.encoded_len() + parts
}

fn part_bytes(run: &Run, part: &PartKey) -> usize {
    match run.part_len(part) {
        0 => 0,
        bytes => PART_BYTES + bytes,
    }
}

/// Whether a run of a workflow is being read. Found by order: there may be many of both.
fn is_asked_for(
    parked: &BTreeMap<WantedRun, Vec<Incoming>>,
    namespace: i64,
    workflow_id: &str,
) -> bool {
    let first = WantedRun { namespace, workflow_id: workflow_id.to_owned(), run_id: None };
    parked.range(&first..).next().is_some_and(|(wanted, _)| {
        wanted.namespace == first.namespace && wanted.workflow_id == first.workflow_id
    })
}
