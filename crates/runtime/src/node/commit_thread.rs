//! The thread that commits: takes whatever batches have queued and makes them durable together.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::{self, JoinHandle};

use perennial_store::{Batch, Error, Store};

use super::{Node, ToCell};
use crate::cell::Input;

pub(crate) enum Commit {
    Batch { cell: usize, batch: Box<Batch> },
    Stop,
}

pub(super) fn start(
    node: &Arc<Node>,
    queue: Receiver<Commit>,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let committer = Committer::of(node);
    let body = move || {
        while let Ok(first) = queue.recv() {
            let mut to = Vec::new();
            let mut batches = Vec::new();
            for commit in std::iter::once(first).chain(queue.try_iter()) {
                match commit {
                    Commit::Batch { cell, batch } => {
                        to.push(cell);
                        batches.push(*batch);
                    }
                    Commit::Stop => return,
                }
            }
            committer.commit(&to, &batches);
        }
    };
    Ok(thread::Builder::new().name("commit".to_owned()).spawn(body)?)
}

/// Makes batches durable and tells their cells.
pub(crate) struct Committer {
    store: Arc<dyn Store>,
    cells: Vec<Sender<ToCell>>,
}

impl Committer {
    pub(crate) fn of(node: &Node) -> Self {
        Self { store: Arc::clone(&node.store), cells: node.cells.clone() }
    }

    /// Commits batches of these cells together.
    pub(crate) fn commit(&self, cells: &[usize], batches: &[Batch]) {
        match self.store.commit(batches) {
            // Nothing of them is stored, and the fault is one cell's alone: the others aren't to suffer.
            Err(Error::Fenced(_) | Error::Conflict(_)) if batches.len() > 1 => {
                for (cell, batch) in cells.iter().zip(batches) {
                    self.tell(*cell, self.store.commit(std::slice::from_ref(batch)));
                }
            }
            done => cells.iter().for_each(|cell| self.tell(*cell, done.clone())),
        }
    }

    /// A cell that has ended is told nothing.
    pub(crate) fn tell(&self, cell: usize, done: Result<(), Error>) {
        let Some(cell) = self.cells.get(cell) else { return };
        let told = match done {
            Ok(()) => ToCell::Input(Input::Committed),
            Err(error) => ToCell::CommitFailed(error),
        };
        let _ = cell.send(told);
    }
}
