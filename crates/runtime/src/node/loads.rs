//! Reading for cells.
//!
//! A cell reads a few things itself, which is quicker than waking another thread, and so what its open batch
//! waits for. Many are read side by side on threads of their own, while the cell goes on.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_engine::{EntityKey, EntityRef, Time};
use perennial_store::{Epoch, Error};

use super::failure::Watched;
use super::{Node, PAGE, ToCell};
use crate::cell::Input;

const THREADS: usize = 2;

/// A store that failed is given this long before the next reading.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Something to be read for a cell, under the lease it has when it asks.
pub(crate) enum Load {
    Entity { cell: usize, epoch: Epoch, wanted: EntityRef },
    Wakes { cell: usize, epoch: Epoch, after: (Time, EntityKey), up_to: Time },
}

/// Starts the threads that read. They end when no cell is left.
pub(super) fn start(
    node: &Arc<Node>,
) -> Result<(Sender<Load>, Vec<JoinHandle<()>>), crate::OpenError> {
    let (loads, queue) = mpsc::channel();
    let queue = Arc::new(Mutex::new(queue));
    let mut threads = Vec::new();
    for index in 0..THREADS {
        let (queue, watched) = (Arc::clone(&queue), Watched::of(node));
        let node = Arc::downgrade(node);
        let body = move || {
            let _watched = watched;
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let (Ok(load), Some(node)) = (next, node.upgrade()) else { return };
                node.load(load).wait_if_failed();
            }
        };
        threads.push(thread::Builder::new().name(format!("load-{index}")).spawn(body)?);
    }
    Ok((loads, threads))
}

/// Whether the store answered. It has if it says that what it holds is damaged: waiting would help nobody.
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

    pub(super) fn wait_if_failed(self) {
        if let Self::Failed = self {
            thread::sleep(RETRY_AFTER);
        }
    }
}

impl Node {
    /// Reads what a cell asked for, entities together, and tells it.
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
                    read = read.and(self.load_wakes(cell, epoch, after, up_to));
                }
            }
        }
        if wanted.is_empty() {
            return read;
        }
        let found = self.store.load(&wanted);
        for (((cell, epoch), wanted), found) in askers.into_iter().zip(wanted).zip(found) {
            read = read.and(self.note_read(&found));
            self.tell(cell, ToCell::UnderLease(epoch, Input::Loaded { wanted, found }));
        }
        read
    }

    /// Reads what a cell asked for, and tells it.
    pub(crate) fn load(&self, load: Load) -> Read {
        self.load_together(vec![load])
    }

    fn load_wakes(&self, cell: usize, epoch: Epoch, after: (Time, EntityKey), up_to: Time) -> Read {
        let wakes = self.store.wakes(self.slots_of(cell), after, up_to, PAGE);
        self.note_read(&wakes);
        let (input, read) = match wakes {
            Ok(wakes) => {
                let is_all = wakes.len() < PAGE;
                (Input::WakesLoaded { up_to, wakes, is_all }, Read::Done)
            }
            Err(_) => (Input::WakesUnread, Read::Failed),
        };
        self.tell(cell, ToCell::UnderLease(epoch, input));
        read
    }

    /// Logs when the store begins to fail reads, and when it answers again. What can't be read is asked for again.
    fn note_read<T>(&self, answer: &Result<T, Error>) -> Read {
        let read = Read::of(answer);
        let fails = matches!(read, Read::Failed);
        if self.reads_fail.swap(fails, Ordering::Relaxed) != fails {
            match answer {
                Err(error) if fails => {
                    tracing::error!(%error, "the store can't be read: what needs it waits or is refused");
                }
                Ok(_) | Err(_) => tracing::info!("the store can be read again"),
            }
        }
        read
    }
}
