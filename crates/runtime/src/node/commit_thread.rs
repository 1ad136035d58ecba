//! The thread that commits: takes whatever batches have queued and makes them durable together.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use perennial_store::Batch;

use super::{Node, ToCell};
use crate::cell::Input;

pub(super) enum Commit {
    Batch { cell: usize, batch: Box<Batch> },
    Stop,
}

pub(super) fn start(
    node: &Arc<Node>,
    queue: Receiver<Commit>,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let store = Arc::clone(&node.store);
    let cells = node.cells.clone();
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
            let done = store.commit(&batches);
            for cell in to {
                let Some(cell) = cells.get(cell) else { continue };
                let _ = cell.send(match &done {
                    Ok(()) => ToCell::Input(Input::Committed),
                    Err(error) => ToCell::CommitFailed(error.to_string()),
                });
            }
        }
    };
    Ok(thread::Builder::new().name("commit".to_owned()).spawn(body)?)
}
