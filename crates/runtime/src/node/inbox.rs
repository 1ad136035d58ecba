//! The inbox of a cell: a channel that knows how many entries wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::ToCell;

/// A new inbox: the end that others send to, and the end that the cell reads.
pub(crate) fn inbox() -> (InboxSender, Inbox) {
    let (sender, receiver) = mpsc::channel();
    let depth = Arc::new(AtomicUsize::new(0));
    (InboxSender { sender, depth: Arc::clone(&depth) }, Inbox { receiver, depth })
}

/// The end of an inbox that others send to.
#[derive(Clone)]
pub(crate) struct InboxSender {
    sender: Sender<ToCell>,
    depth: Arc<AtomicUsize>,
}

impl InboxSender {
    /// Sends an entry. A cell that has ended gets nothing, and the entry comes back.
    #[allow(clippy::result_large_err, reason = "the entry goes on to where errors are answered")]
    pub(crate) fn send(&self, entry: ToCell) -> Result<(), ToCell> {
        // Before the entry can be read, so that the depth isn't negative.
        self.depth.fetch_add(1, Ordering::Relaxed);
        self.sender.send(entry).map_err(|returned| {
            self.depth.fetch_sub(1, Ordering::Relaxed);
            returned.0
        })
    }

    /// The number of entries that wait.
    pub(crate) fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }
}

/// The end of an inbox that its cell reads.
pub(crate) struct Inbox {
    receiver: Receiver<ToCell>,
    depth: Arc<AtomicUsize>,
}

impl Inbox {
    /// Waits for an entry.
    pub(crate) fn recv_timeout(&self, wait: Duration) -> Result<ToCell, RecvTimeoutError> {
        self.receiver.recv_timeout(wait).inspect(|_| self.taken())
    }

    /// The entries that have arrived.
    pub(crate) fn try_iter(&self) -> impl Iterator<Item = ToCell> {
        self.receiver.try_iter().inspect(|_| self.taken())
    }

    fn taken(&self) {
        self.depth.fetch_sub(1, Ordering::Relaxed);
    }
}
