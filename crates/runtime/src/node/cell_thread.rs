//! A cell's own thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use perennial_store::Batch;

use super::cell_loop::{CellLoop, Next, STEP_INPUTS, Work};
use super::commits::{Commit, commit};
use super::failure::Watched;
use super::loads::Load;
use super::{Node, ToCell};

/// With more to read than this in a step, the other threads are worth their waking: each may cost the disk a
/// turn, and the cell would stand still.
const LOADED_IN_PLACE: usize = 32;

/// The other threads that work for a cell.
#[derive(Clone)]
pub(super) struct Helpers {
    /// `None` for a cell that is alone.
    pub(super) commits: Option<Sender<Commit>>,
    pub(super) loads: Sender<Load>,
}

pub(super) fn start(
    node: &Arc<Node>,
    index: usize,
    inbox: Receiver<ToCell>,
    helpers: Helpers,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let cell = CellLoop::lease(node, index)?;
    let watched = Watched::of(node);
    let node = Arc::downgrade(node);
    let mut thread = CellThread { cell, inbox, helpers };
    let body = move || {
        let _watched = watched;
        loop {
            // Not held while waiting: a node that everyone else has dropped ends.
            let Some(wait) = node.upgrade().map(|node| thread.cell.rest(&node)) else { return };
            let first = match thread.inbox.recv_timeout(wait) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(node) = node.upgrade() else { return };
            if thread.handle(&node, first).is_none() {
                return;
            }
        }
    };
    Ok(thread::Builder::new().name(format!("cell-{index}")).spawn(body)?)
}

struct CellThread {
    cell: CellLoop,
    inbox: Receiver<ToCell>,
    helpers: Helpers,
}

impl CellThread {
    /// Takes turns until there is nothing to do at once. `None` if the cell has ended.
    fn handle(&mut self, node: &Arc<Node>, mut first: Option<ToCell>) -> Option<()> {
        loop {
            let arrived = first.into_iter().chain(self.inbox.try_iter()).take(STEP_INPUTS);
            let next = self.cell.turn(node, arrived);
            let Next::GoOn(Work { commit, loads, awaited_loads }) = next else { return None };
            self.load(node, loads);
            node.load_together(awaited_loads).wait_if_failed();
            first = commit.and_then(|batch| self.commit(node, batch));
            if first.is_none() {
                return Some(());
            }
        }
    }

    fn load(&self, node: &Node, loads: Vec<Load>) {
        // Nobody waits for wake-ups, and the store may have to look for them in everything there is.
        let is_wakes = |load: &Load| matches!(load, Load::Wakes { .. });
        let (wakes, loads): (Vec<Load>, Vec<Load>) = loads.into_iter().partition(is_wakes);
        for load in wakes {
            let _ = self.helpers.loads.send(load);
        }
        if loads.len() <= LOADED_IN_PLACE {
            return node.load_together(loads).wait_if_failed();
        }
        for load in loads {
            let _ = self.helpers.loads.send(load);
        }
    }

    /// What the cell is to be told of its commit, if this thread has made it.
    fn commit(&self, node: &Node, batch: Batch) -> Option<ToCell> {
        let cell = self.cell.index();
        let Some(commits) = &self.helpers.commits else {
            return commit(node.store.as_ref(), vec![(cell, batch)]).pop().map(|(_, told)| told);
        };
        let _ = commits.send((cell, batch));
        None
    }
}
