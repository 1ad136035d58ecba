//! Commits batches.
//!
//! The only cell of a node commits on its own thread, between two steps: inputs that arrive meanwhile become its next
//! batch, and no other thread has to wake up. Several cells share a commit thread, which commits all queued batches
//! with one sync (group commit).

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use perennial_store::{Batch, Error, Store};
use perennial_telemetry::Metrics;

use super::commit_watch::CommitWatch;
use super::failure::PanicGuard;
use super::recent_commits::{CommitTimes, RecentCommits};
use super::{CellEntry, Node, ToCell};

/// A slower commit is logged.
const SLOW_COMMIT: Duration = Duration::from_secs(1);

/// A cell and its batch.
pub(crate) type Commit = (Arc<CellEntry>, Batch);

/// Observes commits.
#[derive(Clone)]
pub(crate) struct CommitObserver {
    metrics: Arc<Metrics>,
    watch: CommitWatch,
    recent: RecentCommits,
}

impl CommitObserver {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, watch: CommitWatch::default(), recent: RecentCommits::default() }
    }

    /// How long the commit in progress runs, if there is one.
    pub(crate) fn running_for(&self) -> Option<Duration> {
        self.watch.running_for()
    }

    /// How long the last commits took.
    pub(crate) fn times(&self) -> CommitTimes {
        self.recent.times()
    }
}

/// Starts the commit thread for several cells. It ends with the last cell.
pub(super) fn start(
    node: &Arc<Node>,
) -> Result<(Sender<Commit>, JoinHandle<()>), crate::OpenError> {
    let (commits, queue) = mpsc::channel();
    let (store, guard) = (Arc::clone(&node.store), PanicGuard::of(node));
    let observer = node.commit_observer.clone();
    let body = move || {
        let _guard = guard;
        while let Ok(first) = queue.recv() {
            let queued = std::iter::once(first).chain(queue.try_iter()).collect();
            for (cell, commit_result) in commit(store.as_ref(), queued, &observer) {
                cell.send(commit_result);
            }
        }
    };
    Ok((commits, thread::Builder::new().name("commit".to_owned()).spawn(body)?))
}

/// Commits batches together. Returns the result to send to each cell.
pub(crate) fn commit(
    store: &dyn Store,
    commits: Vec<Commit>,
    observer: &CommitObserver,
) -> Vec<(Arc<CellEntry>, ToCell)> {
    let (cells, batches): (Vec<_>, Vec<Batch>) = commits.into_iter().unzip();
    let slots = || cells.iter().map(|cell| cell.slots.to_string()).collect::<Vec<_>>();
    let begun = Instant::now();
    let committed = {
        let _watched = observer.watch.begin();
        store.commit(&batches)
    };
    let took = begun.elapsed();
    observer.recent.record(took);
    let entities = batches.iter().map(|batch| batch.entities.len()).sum();
    observer.metrics.commits.record(took, entities, committed.is_ok());
    let microseconds = took.as_micros() as u64;
    tracing::trace!(cells = ?slots(), microseconds, is_durable = committed.is_ok(), "committed");
    if took > SLOW_COMMIT {
        let milliseconds = took.as_millis() as u64;
        tracing::warn!(milliseconds, cells = ?slots(), "slow commit: is the disk busy?");
    }
    let done = match committed {
        // No batch was stored because of one cell's conflict: commit each separately.
        Err(Error::Fenced(_) | Error::Conflict(_)) if batches.len() > 1 => {
            batches.iter().map(|batch| store.commit(std::slice::from_ref(batch))).collect()
        }
        done => vec![done; cells.len()],
    };
    cells.into_iter().zip(done.into_iter().map(commit_result)).collect()
}

/// The inbox entry with the result of a commit.
pub(crate) fn commit_result(done: Result<(), Error>) -> ToCell {
    match done {
        Ok(()) => ToCell::Committed,
        Err(error) => ToCell::CommitFailed(error),
    }
}
