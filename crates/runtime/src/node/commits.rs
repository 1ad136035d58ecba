//! Making batches durable: whatever has queued, together.
//!
//! A cell that is alone commits on its own thread, between two steps: what arrives meanwhile is its next
//! batch, and no thread is woken for it. Several cells share a thread that commits: one sync serves all.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use perennial_store::{Batch, Error, Store};

use super::{Node, ToCell};
use crate::cell::Input;

pub(crate) enum Commit {
    Batch { cell: usize, batch: Box<Batch> },
    Stop,
}

impl Commit {
    /// The batch and whose it is, unless this is the end.
    pub(crate) fn into_batch(self) -> Option<(usize, Batch)> {
        match self {
            Self::Batch { cell, batch } => Some((cell, *batch)),
            Self::Stop => None,
        }
    }
}

/// Starts the thread that commits for several cells.
pub(super) fn start(
    node: &Node,
    queue: Receiver<Commit>,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let (store, cells) = (Arc::clone(&node.store), node.cells.clone());
    let body = move || {
        while let Some(first) = queue.recv().ok().and_then(Commit::into_batch) {
            let queued = queue.try_iter().map_while(Commit::into_batch);
            let batches = std::iter::once(first).chain(queued).collect();
            for (cell, told) in commit(store.as_ref(), batches) {
                if let Some(cell) = cells.get(cell) {
                    let _ = cell.send(told);
                }
            }
        }
    };
    Ok(thread::Builder::new().name("commit".to_owned()).spawn(body)?)
}

/// Commits batches of several cells together, and says what each cell is to be told.
pub(crate) fn commit(store: &dyn Store, batches: Vec<(usize, Batch)>) -> Vec<(usize, ToCell)> {
    let (cells, batches): (Vec<usize>, Vec<Batch>) = batches.into_iter().unzip();
    let done = match store.commit(&batches) {
        // Nothing of them is stored, and the fault is one cell's alone: the others aren't to suffer.
        Err(Error::Fenced(_) | Error::Conflict(_)) if batches.len() > 1 => {
            batches.iter().map(|batch| store.commit(std::slice::from_ref(batch))).collect()
        }
        done => vec![done; cells.len()],
    };
    cells.into_iter().zip(done.into_iter().map(told)).collect()
}

/// What a cell is told of its commit.
pub(crate) fn told(done: Result<(), Error>) -> ToCell {
    match done {
        Ok(()) => ToCell::Input(Input::Committed),
        Err(error) => ToCell::CommitFailed(error),
    }
}
