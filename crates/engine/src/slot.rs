//! Slots: the fixed partitions of all entities, by their ids.

use std::ops::RangeInclusive;

use crate::NamespaceKey;

/// A partition of the entities, by their ids. A cell owns a range of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

impl Slot {
    /// The number of slots: a constant, because stored rows name their slot.
    pub const COUNT: u16 = 16_384;

    /// The slot that owns cluster-wide records.
    pub const CLUSTER: Self = Self(0);

    /// The slot of an id: a workflow id with all its runs, or a schedule id.
    pub fn of(namespace: NamespaceKey, id: &str) -> Self {
        // FNV-1a: stable across versions and machines, which std's hasher doesn't promise.
        let start = 0xcbf2_9ce4_8422_2325_u64;
        let bytes = namespace.0.to_le_bytes().into_iter().chain(id.bytes());
        let hash =
            bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self(((hash ^ (hash >> 32)) % u64::from(Self::COUNT)) as u16)
    }
}

/// A contiguous range of slots, never empty.
///
/// ```
/// use perennial_engine::{Slot, SlotRange};
///
/// let halves = SlotRange::divided(2);
/// assert_eq!(halves.len(), 2);
/// assert!(halves[0].contains(Slot(0)) && halves[1].contains(Slot(Slot::COUNT - 1)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotRange {
    first: Slot,
    last: Slot,
}

impl SlotRange {
    /// Every slot.
    pub const ALL: Self = Self { first: Slot(0), last: Slot(Slot::COUNT - 1) };

    /// The slots from `first` to `last`, both included. `None` if the range is empty or goes beyond the last slot.
    pub fn new(first: Slot, last: Slot) -> Option<Self> {
        (first <= last && last.0 < Slot::COUNT).then_some(Self { first, last })
    }

    /// Divides all slots into `count` ranges of about the same size: at least one, at most one for each slot.
    pub fn divided(count: u32) -> Vec<Self> {
        let slots = u32::from(Slot::COUNT);
        let count = count.clamp(1, slots);
        // Each quotient is below the number of slots, so it fits.
        let begin = |index: u32| (index * slots).div_ceil(count) as u16;
        (0..count)
            .map(|index| Self { first: Slot(begin(index)), last: Slot(begin(index + 1) - 1) })
            .collect()
    }

    /// The first slot of the range, which identifies the cell.
    pub fn first(self) -> Slot {
        self.first
    }

    /// The last slot of the range.
    pub fn last(self) -> Slot {
        self.last
    }

    /// Whether the slot lies in the range.
    pub fn contains(self, slot: Slot) -> bool {
        RangeInclusive::new(self.first, self.last).contains(&slot)
    }
}

impl std::fmt::Display for SlotRange {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}-{}", self.first.0, self.last.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_every_slot_once() {
        for count in [1, 2, 3, 7, 16, 1_000, 16_384] {
            let ranges = SlotRange::divided(count);
            assert_eq!(ranges.len(), count as usize);
            assert_eq!(
                (ranges[0].first(), ranges[ranges.len() - 1].last()),
                (Slot(0), SlotRange::ALL.last())
            );
            for pair in ranges.windows(2) {
                assert_eq!(pair[0].last().0 + 1, pair[1].first().0, "of {count}");
            }
        }
    }

    #[test]
    fn range_is_never_empty() {
        assert!(SlotRange::new(Slot(2), Slot(1)).is_none());
        assert!(SlotRange::new(Slot(2), Slot(Slot::COUNT)).is_none());
        assert_eq!(SlotRange::divided(0), [SlotRange::ALL]);
    }
}
