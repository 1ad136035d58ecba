//! The cells that this node owns now. In a cluster they come and go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use perennial_engine::{Slot, SlotRange, Time};

use super::ToCell;
use super::inbox::{self, Inbox, InboxSender};

/// A cell of this node, as others see it.
pub(crate) struct CellEntry {
    pub(crate) slots: SlotRange,
    inbox: InboxSender,
    /// As it was after the cell's last turn.
    cache: Mutex<CacheSize>,
    /// The first wake-up that wasn't handled in the cell's last turn.
    next_wake: Mutex<Option<Time>>,
}

/// The size of a cell's cache.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CacheSize {
    pub(crate) entities: usize,
    pub(crate) bytes: usize,
}

impl CellEntry {
    /// A cell, and the end of its inbox that it reads.
    fn new(slots: SlotRange) -> (Arc<Self>, Inbox) {
        let (inbox, arrived) = inbox::inbox();
        let entry = Self { slots, inbox, cache: Mutex::default(), next_wake: Mutex::default() };
        (Arc::new(entry), arrived)
    }

    /// Sends to the cell's inbox. A cell that has ended refuses what has an answer.
    pub(crate) fn send(&self, entry: ToCell) {
        if let Err(entry) = self.inbox.send(entry) {
            entry.refuse();
        }
    }

    /// The number of entries that wait in the inbox.
    pub(crate) fn queue_depth(&self) -> usize {
        self.inbox.depth()
    }

    /// The size of the cell's cache.
    pub(crate) fn cache_size(&self) -> CacheSize {
        *lock(&self.cache)
    }

    /// Notes the size of the cell's cache.
    pub(crate) fn set_cache_size(&self, size: CacheSize) {
        *lock(&self.cache) = size;
    }

    /// The first wake-up that wasn't handled in the cell's last turn.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        *lock(&self.next_wake)
    }

    /// Notes the first wake-up that the cell hasn't handled.
    pub(crate) fn set_next_wake(&self, wake: Option<Time>) {
        *lock(&self.next_wake) = wake;
    }
}

/// The cells of a node, in the order of their slots. They don't overlap.
#[derive(Default)]
pub(crate) struct OwnedCells(RwLock<Arc<Vec<Arc<CellEntry>>>>);

impl OwnedCells {
    /// All cells at this moment.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<CellEntry>>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The cell that owns a slot. `None` if another node does, or nobody.
    pub(crate) fn of(&self, slot: Slot) -> Option<Arc<CellEntry>> {
        let cells = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let cell = cells.get(cells.partition_point(|cell| cell.slots.last() < slot))?;
        cell.slots.contains(slot).then(|| Arc::clone(cell))
    }

    /// Whether one of the cells owns the slot.
    pub(crate) fn contains(&self, slot: Slot) -> bool {
        self.of(slot).is_some()
    }

    /// Adds a cell. Requests wait in its inbox until it is started.
    pub(crate) fn add(&self, slots: SlotRange) -> (Arc<CellEntry>, Inbox) {
        let (cell, inbox) = CellEntry::new(slots);
        let added = Arc::clone(&cell);
        self.change(|cells| {
            let place = cells.partition_point(|other| other.slots.first() < slots.first());
            cells.insert(place, added);
        });
        (cell, inbox)
    }

    /// Removes a cell. False if it isn't there any more.
    pub(crate) fn remove(&self, cell: &Arc<CellEntry>) -> bool {
        self.change(|cells| {
            let place = cells.iter().position(|other| Arc::ptr_eq(other, cell));
            place.map(|place| cells.remove(place)).is_some()
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Arc<CellEntry>>) -> T) -> T {
        let mut cells = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut cells))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
