//! Making batches durable.
//!
//! A cell that is alone commits on its own thread, between two steps: what arrives meanwhile is its next
//! batch, and no thread is woken for it. Several cells share a thread that commits whatever has queued
//! together: one sync serves all.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use perennial_store::{Batch, Error, Store};

use super::failure::Watched;
use super::{Node, ToCell};

/// A commit that takes longer than this is worth a line in the log.
const SLOW_COMMIT: Duration = Duration::from_secs(1);

/// A cell and its batch.
pub(crate) type Commit = (usize, Batch);

/// Starts the thread that commits for several cells. It ends when none of them is left.
pub(super) fn start(
    node: &Arc<Node>,
) -> Result<(Sender<Commit>, JoinHandle<()>), crate::OpenError> {
    let (commits, queue) = mpsc::channel();
    let (store, watched) = (Arc::clone(&node.store), Watched::of(node));
    let node = Arc::downgrade(node);
    let body = move || {
        let _watched = watched;
        while let Ok(first) = queue.recv() {
            let queued = std::iter::once(first).chain(queue.try_iter()).collect();
            let done = commit(store.as_ref(), queued);
            let Some(node) = node.upgrade() else { return };
            done.into_iter().for_each(|(cell, told)| node.tell(cell, told));
        }
    };
    Ok((commits, thread::Builder::new().name("commit".to_owned()).spawn(body)?))
}

/// Commits batches together, and says what each one's cell is to be told.
pub(crate) fn commit(store: &dyn Store, commits: Vec<Commit>) -> Vec<(usize, ToCell)> {
    let (cells, batches): (Vec<usize>, Vec<Batch>) = commits.into_iter().unzip();
    let begun = Instant::now();
    let committed = store.commit(&batches);
    let took = begun.elapsed();
    let microseconds = took.as_micros() as u64;
    tracing::trace!(?cells, microseconds, is_durable = committed.is_ok(), "committed");
    if took > SLOW_COMMIT {
        let milliseconds = took.as_millis() as u64;
        tracing::warn!(milliseconds, cells = ?cells, "a commit took long: is the disk busy?");
    }
    let done = match committed {
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
        Ok(()) => ToCell::Committed,
        Err(error) => ToCell::CommitFailed(error),
    }
}
