//! A node without threads, for deterministic simulation: the caller takes its turns one at a time, in any order.
//!
//! Cells, queues, messages and batches are those of the server. The same store, seed, times and order of turns give
//! the same result. The crate `perennial-simulator` builds on it.
//!
//! ```
//! use std::sync::Arc;
//! use perennial_engine::Time;
//! use perennial_runtime::{RuntimeConfig, simulation::{Clock, Node}};
//! use perennial_store::MemoryStore;
//!
//! let clock = Clock::at(Time(1));
//! let mut node = Node::open(Arc::new(MemoryStore::new()), &RuntimeConfig::default(), &clock, 7)?;
//! let runtime = node.runtime();
//! assert_eq!(runtime.now(), Time(1));
//! while node.take_any_turn() {}
//! # Ok::<(), perennial_runtime::OpenError>(())
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use perennial_engine::{SlotRange, Span, Time};
use perennial_proto::store::EntityMessage;
use perennial_store::{CellId, Store};

use crate::cell::slot_of_sender;
use crate::node::cell_loop::{CellLoop, INPUTS_PER_STEP, Next};
use crate::node::commits::{self, Commit};
use crate::node::inbox::Inbox;
use crate::node::loads::Load;
use crate::node::{self, CellEntry, Environment, ToCell};
use crate::{OpenError, Runtime, RuntimeConfig};

/// A settable clock. Clones share the time.
#[derive(Debug, Clone)]
pub struct Clock {
    now: Arc<AtomicI64>,
    since_boot: Arc<AtomicI64>,
}

impl Clock {
    /// A clock at this time.
    pub fn at(now: Time) -> Self {
        Self { now: Arc::new(AtomicI64::new(now.0)), since_boot: Arc::default() }
    }

    /// The current time.
    pub fn now(&self) -> Time {
        Time(self.now.load(Ordering::SeqCst))
    }

    /// Lets time pass, on the monotonic clock too.
    pub fn pass(&self, span: Span) {
        self.now.fetch_add(span.0, Ordering::SeqCst);
        self.since_boot.fetch_add(span.0.max(0), Ordering::SeqCst);
    }

    /// Sets the clock, forward or back. The monotonic clock doesn't change.
    pub fn set(&self, now: Time) {
        self.now.store(now.0, Ordering::SeqCst);
    }
}

/// When a cell gets the acknowledgement of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acknowledge {
    /// When the batch is durable.
    #[default]
    AfterCommit,
    /// Immediately, before the commit. A fault that the simulator must detect.
    BeforeCommit,
}

/// A node whose turns the caller takes. Dropping it simulates a crash.
pub struct Node {
    node: Arc<node::Node>,
    runtime: Runtime,
    cells: Vec<Turns>,
    commits: VecDeque<Commit>,
    loads: VecDeque<Load>,
    acknowledge: Acknowledge,
}

/// A cell and its inbox.
struct Turns {
    entry: Arc<CellEntry>,
    /// `None` once it has ended.
    cell: Option<CellLoop>,
    inbox: Inbox,
    arrived: VecDeque<ToCell>,
}

impl Node {
    /// Opens a node on a store, as [`Runtime::open`] does. All ids and random numbers follow from `seed`.
    pub fn open(
        store: Arc<dyn Store>,
        config: &RuntimeConfig,
        clock: &Clock,
        seed: u64,
    ) -> Result<Self, OpenError> {
        let Clock { now, since_boot } = clock.clone();
        let environment = Environment::Simulated { now, since_boot, seed: AtomicU64::new(seed) };
        let node = node::Node::without_threads(store, config, environment, None)?;
        let slots = node::slot_ranges(node.store.as_ref(), config.cells)?;
        let added: Vec<_> = slots.into_iter().map(|slots| node.cells.add(slots)).collect();
        let mut cells = Vec::new();
        for (entry, inbox) in added {
            let lease = node.lease_cell(entry.slots)?;
            let cell = Some(CellLoop::start(&node, Arc::clone(&entry), lease)?);
            cells.push(Turns { entry, cell, inbox, arrived: VecDeque::new() });
        }
        node.offer_stored_tasks(SlotRange::ALL)?;
        Ok(Self {
            runtime: Runtime::of(Arc::clone(&node)),
            node,
            cells,
            commits: VecDeque::new(),
            loads: VecDeque::new(),
            acknowledge: Acknowledge::default(),
        })
    }

    /// The handle for clients and workers.
    pub fn runtime(&self) -> Runtime {
        self.runtime.clone()
    }

    /// Sets when cells get the acknowledgement of their batches.
    pub fn set_acknowledge(&mut self, acknowledge: Acknowledge) {
        self.acknowledge = acknowledge;
    }

    /// Ids of the cells, in the order of their slots.
    pub fn cell_ids(&self) -> Vec<CellId> {
        self.cells.iter().map(|turns| CellId(turns.entry.slots.first())).collect()
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Number of inputs for a cell, plus one if it is due. 0 if a turn would do nothing.
    pub fn arrived(&mut self, cell: usize) -> usize {
        let Some(turns) = self.cells.get_mut(cell) else { return 0 };
        turns.arrived.extend(turns.inbox.try_iter());
        let Some(running) = &turns.cell else {
            turns.arrived.clear();
            return 0;
        };
        let is_due =
            running.has_undelivered() || running.until_next_turn(&self.node) == Duration::ZERO;
        turns.arrived.len() + usize::from(is_due)
    }

    /// Lets a cell handle its first `inputs` inputs.
    pub fn step(&mut self, cell: usize, inputs: usize) {
        self.arrived(cell);
        let Some(turns) = self.cells.get_mut(cell) else { return };
        let Some(running) = &mut turns.cell else { return };
        let inputs = inputs.min(turns.arrived.len()).min(INPUTS_PER_STEP);
        let next = running.turn(&self.node, turns.arrived.drain(..inputs));
        match next {
            Next::Continue(work) => {
                if self.acknowledge == Acknowledge::BeforeCommit && work.commit.is_some() {
                    turns.entry.send(commits::commit_result(Ok(())));
                }
                let entry = &turns.entry;
                self.commits.extend(work.commit.map(|batch| (Arc::clone(entry), batch)));
                self.loads.extend(work.loads);
                self.loads.extend(work.awaited_loads);
                running.rest(&self.node);
            }
            Next::End(_) => turns.cell = None,
        }
    }

    /// Whether a cell takes no writes, because a commit failed and there is no new lease yet.
    pub fn is_suspended(&self, cell: usize) -> bool {
        let cell = self.cells.get(cell).and_then(|turns| turns.cell.as_ref());
        cell.is_some_and(CellLoop::is_suspended)
    }

    /// When the first cell has to take a turn if no input arrives.
    pub fn next_wake(&self) -> Option<Time> {
        let waits = self.cells.iter().filter_map(|turns| turns.cell.as_ref());
        let waits = waits.map(|cell| cell.until_next_turn(&self.node));
        let now = self.node.now();
        let wait = waits.min()?;
        Some(Time(now.0.saturating_add(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX))))
    }

    /// Bytes of the cached runs and schedules of all cells.
    pub fn cached_bytes(&self) -> usize {
        self.cells.iter().filter_map(|turns| turns.cell.as_ref()).map(CellLoop::cached_bytes).sum()
    }

    /// Number of batches that wait for a commit.
    pub fn uncommitted(&self) -> usize {
        self.commits.len()
    }

    /// Commits the first `batches` waiting batches together.
    pub fn commit(&mut self, batches: usize) {
        let count = batches.min(self.commits.len());
        let batches = self.commits.drain(..count).collect();
        for (cell, result) in
            commits::commit(self.node.store.as_ref(), batches, &self.node.commit_observer)
        {
            let is_acknowledged = matches!(result, ToCell::Committed)
                && self.acknowledge == Acknowledge::BeforeCommit;
            if !is_acknowledged {
                cell.send(result);
            }
        }
    }

    /// Number of reads that cells wait for.
    pub fn unread(&self) -> usize {
        self.loads.len()
    }

    /// Performs the waiting read at this position.
    pub fn read(&mut self, index: usize) {
        if let Some(load) = self.loads.remove(index) {
            self.node.load(load);
        }
    }

    /// Delivers a message, for the first time or again.
    pub fn deliver(&self, message: EntityMessage) {
        let slot = slot_of_sender(&message);
        let sender = self.cells.iter().find(|turns| turns.entry.slots.contains(slot));
        if let Some(cell) = sender.and_then(|turns| turns.cell.as_ref()) {
            self.node.deliver(Arc::new(message), cell.epoch());
        }
    }

    /// Whether every cell has ended, because another node has taken over.
    pub fn has_ended(&self) -> bool {
        self.cells.iter().all(|turns| turns.cell.is_none())
    }

    /// Takes the first possible turn. False if nothing is due before time passes.
    pub fn take_any_turn(&mut self) -> bool {
        if self.unread() > 0 {
            self.read(0);
        } else if self.uncommitted() > 0 {
            self.commit(usize::MAX);
        } else if let Some(cell) = (0..self.cells()).find(|cell| self.arrived(*cell) > 0) {
            self.step(cell, usize::MAX);
        } else {
            return false;
        }
        true
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cells, commits, loads, acknowledge, .. } = self;
        f.debug_struct("Node")
            .field("cells", &cells.len())
            .field("commits", &commits.len())
            .field("loads", &loads.len())
            .field("acknowledge", acknowledge)
            .finish_non_exhaustive()
    }
}
