//! A cell's own thread.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use perennial_store::Batch;

use super::cell_loop::{CellLoop, Ended, INPUTS_PER_STEP, Next, Work};
use super::commits::{Commit, commit};
use super::failure::PanicGuard;
use super::inbox::Inbox;
use super::loads::Load;
use super::{Node, ToCell};

/// A step with more loads than this uses the loader threads: each load may wait for the disk, and would block the cell.
const INLINE_LOADS_MAX: usize = 32;

/// Channels to the other threads that work for a cell.
#[derive(Clone)]
pub(super) struct Helpers {
    /// `None` for the only cell of a node, which commits itself.
    pub(super) commits: Option<Sender<Commit>>,
    pub(super) loads: Sender<Load>,
}

pub(super) fn start(
    node: &Arc<Node>,
    cell: CellLoop,
    inbox: Inbox,
    helpers: Helpers,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let name = format!("cell-{}", cell.entry().slots.first().0);
    let guard = PanicGuard::of(node);
    let node = Arc::downgrade(node);
    let mut thread = CellThread { cell, inbox, helpers };
    let body = move || {
        let _guard = guard;
        loop {
            // The reference isn't kept while waiting, so a node that is dropped elsewhere ends.
            let Some(wait) = node.upgrade().map(|node| thread.cell.rest(&node)) else { return };
            let first = match thread.inbox.recv_timeout(wait) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(node) = node.upgrade() else { return };
            if let Err(ended) = thread.handle(&node, first) {
                return thread.leave(&node, ended);
            }
        }
    };
    Ok(thread::Builder::new().name(name).spawn(body)?)
}

struct CellThread {
    cell: CellLoop,
    inbox: Inbox,
    helpers: Helpers,
}

impl CellThread {
    /// Takes turns until the cell is idle, or has ended.
    fn handle(&mut self, node: &Arc<Node>, mut first: Option<ToCell>) -> Result<(), Ended> {
        loop {
            let arrived = first.into_iter().chain(self.inbox.try_iter()).take(INPUTS_PER_STEP);
            let next = self.cell.turn(node, arrived);
            let Work { commit, loads, awaited_loads } = match next {
                Next::Continue(work) => work,
                Next::End(ended) => return Err(ended),
            };
            self.load(node, loads);
            node.load_together(awaited_loads).delay_if_failed();
            first = commit.and_then(|batch| self.commit(node, batch));
            if first.is_none() {
                return Ok(());
            }
        }
    }

    /// The cell has ended: in a cluster, the others get to know, and what arrives late is refused.
    fn leave(self, node: &Arc<Node>, ended: Ended) {
        let cell = self.cell.entry();
        node.cells.remove(cell);
        for late in self.inbox.try_iter() {
            late.refuse();
        }
        let Some(cluster) = &node.cluster else { return };
        let slots = cell.slots;
        match ended {
            Ended::Stopped => cluster.release(slots, self.cell.lease_epoch()),
            Ended::Lost => cluster.look(),
        }
        node.cell_has_drained(slots);
        if let Err(error) = node.reload_tasks(slots) {
            // The next poll of each queue reads them.
            tracing::warn!(%error, "cannot read the waiting tasks of this node");
        }
    }

    fn load(&self, node: &Node, loads: Vec<Load>) {
        // No caller waits for wake-ups, and reading them may scan the store.
        let is_wakes = |load: &Load| matches!(load, Load::Wakes { .. });
        let (wakes, loads): (Vec<Load>, Vec<Load>) = loads.into_iter().partition(is_wakes);
        for load in wakes {
            let _ = self.helpers.loads.send(load);
        }
        if loads.len() <= INLINE_LOADS_MAX {
            return node.load_together(loads).delay_if_failed();
        }
        for load in loads {
            let _ = self.helpers.loads.send(load);
        }
    }

    /// The result of a commit, if this thread made it.
    fn commit(&self, node: &Node, batch: Batch) -> Option<ToCell> {
        let cell = Arc::clone(self.cell.entry());
        let Some(commits) = &self.helpers.commits else {
            return commit(node.store.as_ref(), vec![(cell, batch)], &node.commit_observer)
                .pop()
                .map(|(_, result)| result);
        };
        let _ = commits.send((cell, batch));
        None
    }
}
