//! Loads entities and wake-ups for cells.
//!
//! A cell's thread reads a few entities itself, which is faster than waking another thread, and those that its open
//! batch waits for. Larger numbers are read in parallel by loader threads while the cell continues.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_engine::{EntityKey, EntityRef, Time};
use perennial_store::{Epoch, Error};

use super::failure::PanicGuard;
use super::{CellEntry, Node, PAGE, ToCell};
use crate::cell::Input;

const THREADS: usize = 2;

/// Delay before the next read after a failed one.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// A read for a cell, with the cell's lease at the time of the request.
pub(crate) enum Load {
    Entity { cell: Arc<CellEntry>, epoch: Epoch, wanted: EntityRef },
    Wakes { cell: Arc<CellEntry>, epoch: Epoch, after: (Time, EntityKey), up_to: Time },
}

/// Starts the loader threads. They end with the last cell.
pub(super) fn start(
    node: &Arc<Node>,
) -> Result<(Sender<Load>, Vec<JoinHandle<()>>), crate::OpenError> {
    let (loads, queue) = mpsc::channel();
    let queue = Arc::new(Mutex::new(queue));
    let mut threads = Vec::new();
    for index in 0..THREADS {
        let (queue, guard) = (Arc::clone(&queue), PanicGuard::of(node));
        let node = Arc::downgrade(node);
        let body = move || {
            let _guard = guard;
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let (Ok(load), Some(node)) = (next, node.upgrade()) else { return };
                node.load(load).delay_if_failed();
            }
        };
        threads.push(thread::Builder::new().name(format!("load-{index}")).spawn(body)?);
    }
    Ok((loads, threads))
}

/// Whether the store answered. A report of damaged rows is an answer: a retry wouldn't help.
pub(crate) enum Read {
    Done,
    Failed,
}

impl Read {
    fn of<T>(answer: &Result<T, Error>) -> Self {
        match answer {
            Ok(_) | Err(Error::Corrupt(_)) => Self::Done,
            Err(Error::Fenced(_) | Error::Conflict(_) | Error::Unavailable(_) | Error::Full(_)) => {
                Self::Failed
            }
        }
    }

    fn and(self, other: Self) -> Self {
        if let Self::Failed = self { self } else { other }
    }

    pub(super) fn delay_if_failed(self) {
        if let Self::Failed = self {
            thread::sleep(RETRY_DELAY);
        }
    }
}

impl Node {
    /// Reads for a cell, entities in one call, and sends the results to it.
    pub(crate) fn load_together(&self, loads: Vec<Load>) -> Read {
        let mut read = Read::Done;
        let (mut askers, mut wanted) = (Vec::new(), Vec::new());
        for load in loads {
            match load {
                Load::Entity { cell, epoch, wanted: entity } => {
                    askers.push((cell, epoch));
                    wanted.push(entity);
                }
                Load::Wakes { cell, epoch, after, up_to } => {
                    read = read.and(self.load_wakes(&cell, epoch, after, up_to));
                }
            }
        }
        if wanted.is_empty() {
            return read;
        }
        let found = self.store.load(&wanted);
        for (((cell, epoch), wanted), found) in askers.into_iter().zip(wanted).zip(found) {
            read = read.and(self.record_read(&found));
            cell.send(ToCell::UnderLease(epoch, Input::Loaded { wanted, found }));
        }
        read
    }

    /// Reads for a cell, and sends the result to it.
    pub(crate) fn load(&self, load: Load) -> Read {
        self.load_together(vec![load])
    }

    fn load_wakes(
        &self,
        cell: &CellEntry,
        epoch: Epoch,
        after: (Time, EntityKey),
        up_to: Time,
    ) -> Read {
        let wakes = self.store.wakes(cell.slots, after, up_to, PAGE);
        self.record_read(&wakes);
        let (input, read) = match wakes {
            Ok(wakes) => {
                let is_all = wakes.len() < PAGE;
                (Input::WakesLoaded { up_to, wakes, is_all }, Read::Done)
            }
            Err(_) => (Input::WakesReadFailed, Read::Failed),
        };
        cell.send(ToCell::UnderLease(epoch, input));
        read
    }

    /// Logs when the store begins to fail reads, and when it answers again. Failed reads are retried.
    fn record_read<T>(&self, answer: &Result<T, Error>) -> Read {
        let read = Read::of(answer);
        let fails = matches!(read, Read::Failed);
        if self.reads_fail.swap(fails, Ordering::Relaxed) != fails {
            match answer {
                Err(error) if fails => {
                    tracing::error!(%error, "the store can't be read: requests that need it wait or are refused");
                }
                Ok(_) | Err(_) => tracing::info!("the store can be read again"),
            }
        }
        read
    }
}
