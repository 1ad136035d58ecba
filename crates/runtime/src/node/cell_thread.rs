//! A cell's own thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};

use super::cell_loop::{CellLoop, Next, STEP_INPUTS};
use super::{Node, ToCell};

pub(super) fn start(
    node: &Arc<Node>,
    id: u32,
    inbox: Receiver<ToCell>,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let mut cell = CellLoop::lease(node, id)?;
    let node = Arc::downgrade(node);
    let body = move || {
        loop {
            // Not held while waiting: a node that everyone else has dropped ends.
            let Some(wait) = node.upgrade().map(|node| cell.wait(&node)) else { return };
            let first = match inbox.recv_timeout(wait) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(node) = node.upgrade() else { return };
            let arrived = first.into_iter().chain(inbox.try_iter()).take(STEP_INPUTS);
            let mut next = cell.turn(&node, arrived);
            while let Next::TryAgain(after) = next {
                thread::sleep(after);
                next = cell.turn(&node, []);
            }
            if next == Next::End {
                return;
            }
        }
    };
    Ok(thread::Builder::new().name(format!("cell-{id}")).spawn(body)?)
}
