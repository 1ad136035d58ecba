//! A cell's own thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};

use super::cell_loop::{CellLoop, Next, STEP_INPUTS};
use super::commits::{Commit, commit};
use super::{Node, ToCell};

/// Starts it. A cell that is alone is given the queue of its commits too.
pub(super) fn start(
    node: &Arc<Node>,
    id: u32,
    inbox: Receiver<ToCell>,
    commits: Option<Receiver<Commit>>,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let cell = CellLoop::lease(node, id)?;
    let node = Arc::downgrade(node);
    let mut thread = CellThread { cell, inbox, commits };
    let body = move || {
        loop {
            // Not held while waiting: a node that everyone else has dropped ends.
            let Some(wait) = node.upgrade().map(|node| thread.cell.wait(&node)) else { return };
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
    Ok(thread::Builder::new().name(format!("cell-{id}")).spawn(body)?)
}

struct CellThread {
    cell: CellLoop,
    inbox: Receiver<ToCell>,
    commits: Option<Receiver<Commit>>,
}

impl CellThread {
    /// Takes turns until there is nothing to do at once. `None` if the cell has ended.
    fn handle(&mut self, node: &Arc<Node>, first: Option<ToCell>) -> Option<()> {
        let mut next = self.turn(node, first);
        loop {
            next = match next {
                Next::End => return None,
                Next::TryAgain(after) => {
                    thread::sleep(after);
                    self.cell.turn(node, [])
                }
                Next::GoOn => match self.commit(node) {
                    Some(told) => self.turn(node, Some(told)),
                    None => return Some(()),
                },
            }
        }
    }

    fn turn(&mut self, node: &Arc<Node>, first: Option<ToCell>) -> Next {
        let arrived = first.into_iter().chain(self.inbox.try_iter()).take(STEP_INPUTS);
        self.cell.turn(node, arrived)
    }

    /// Commits what the last turn led to, if that is for this thread to do.
    fn commit(&self, node: &Node) -> Option<ToCell> {
        let batch = self.commits.as_ref()?.try_recv().ok()?.into_batch()?;
        commit(node.store.as_ref(), vec![batch]).pop().map(|(_, told)| told)
    }
}
