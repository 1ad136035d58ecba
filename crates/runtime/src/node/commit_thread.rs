//! The thread that commits: takes whatever batches have queued and makes them durable together.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;

use perennial_store::{Batch, Error};

use super::{Node, ToCell};
use crate::cell::Input;

pub(super) struct Commit {
    pub(super) cell: usize,
    pub(super) batch: Batch,
}

pub(super) fn start(node: &Arc<Node>, queue: Receiver<Commit>) -> Result<(), crate::OpenError> {
    let store = Arc::clone(&node.store);
    let cells = node.cells.clone();
    let body = move || {
        while let Ok(first) = queue.recv() {
            let (to, batches): (Vec<_>, Vec<_>) = std::iter::once(first)
                .chain(queue.try_iter())
                .map(|commit| (commit.cell, commit.batch))
                .unzip();
            let done = store.commit(&batches);
            for cell in to {
                let Some(cell) = cells.get(cell) else { continue };
                let _ = cell.send(match &done {
                    Ok(()) => ToCell::Input(Input::Committed),
                    Err(error) => ToCell::CommitFailed(said(error)),
                });
            }
        }
    };
    thread::Builder::new().name("commit".to_owned()).spawn(body)?;
    Ok(())
}

fn said(error: &Error) -> String {
    error.to_string()
}
