//! The lease of a cell: slots, epoch, and the keys and batch numbers assigned under it.

use perennial_engine::{FreshKeys, Slot, SlotRange};
use perennial_store::{BatchId, CellId, Epoch};

/// A key has 32 bits for its number under a lease. A cell takes a new lease after half of them at the latest. The
/// other half is reserved for the keys of one batch.
pub(crate) const KEYS_PER_LEASE_MAX: u32 = 1 << 31;

/// See the module's documentation.
pub(super) struct HeldLease {
    slots: SlotRange,
    epoch: Epoch,
    keys: FreshKeys,
    keys_per_lease: u32,
    next_sequence: u64,
}

impl HeldLease {
    pub(super) fn new(slots: SlotRange, epoch: Epoch, keys_per_lease: u32) -> Self {
        let keys_per_lease = keys_per_lease.clamp(1, KEYS_PER_LEASE_MAX);
        Self { slots, epoch, keys: keys_under(epoch), keys_per_lease, next_sequence: 1 }
    }

    /// The lease that follows this one.
    pub(super) fn renew(&mut self, epoch: Epoch) {
        *self = Self::new(self.slots, epoch, self.keys_per_lease);
    }

    pub(super) fn cell(&self) -> CellId {
        CellId(self.slots.first())
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Unique keys: ascending within a lease, and above those of all earlier leases.
    pub(super) fn keys(&self) -> &FreshKeys {
        &self.keys
    }

    /// Whether a new lease is due, for more keys.
    pub(super) fn needs_keys(&self) -> bool {
        let made = self.keys.last() - keys_under(self.epoch).last();
        made >= i64::from(self.keys_per_lease)
    }

    /// Whether the slot belongs to the cell.
    pub(super) fn owns(&self, slot: Slot) -> bool {
        self.slots.contains(slot)
    }

    /// The number of the next batch.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Counts a batch that is now in flight.
    pub(super) fn count_batch(&mut self) {
        self.next_sequence += 1;
    }

    /// The batch that was counted last.
    pub(super) fn last_batch(&self) -> BatchId {
        BatchId { epoch: self.epoch, sequence: self.next_sequence - 1 }
    }
}

fn keys_under(epoch: Epoch) -> FreshKeys {
    FreshKeys::above(epoch.0 << 32)
}
