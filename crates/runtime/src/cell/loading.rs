//! Limits the loads in flight: entities being loaded take memory too.

use std::collections::VecDeque;

use perennial_engine::EntityRef;
use perennial_store::{Error, StoredEntity};

/// Loads in flight, whatever their size.
const IN_FLIGHT_MAX: usize = 256;
/// Loads in flight even when recent entities were as large as the memory limit.
const IN_FLIGHT_MIN: usize = 2;

/// Loads in flight, and waiting ones.
pub(super) struct Loading {
    bytes_max: usize,
    in_flight: usize,
    waiting: VecDeque<EntityRef>,
    /// Size of the largest entity loaded recently, as an estimate for the next ones.
    largest: usize,
}

impl Loading {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, in_flight: 0, waiting: VecDeque::new(), largest: 0 }
    }

    /// Queues a load.
    pub(super) fn enqueue(&mut self, wanted: EntityRef) {
        self.waiting.push_back(wanted);
    }

    /// Counts a load that starts immediately, because a batch waits for it.
    pub(super) fn count_immediate(&mut self) {
        self.in_flight += 1;
    }

    /// The loads to start now.
    pub(super) fn take_next(&mut self) -> Vec<EntityRef> {
        let in_flight_max = self.bytes_max / self.largest.max(1);
        let in_flight_max = in_flight_max.clamp(IN_FLIGHT_MIN, IN_FLIGHT_MAX);
        let count = in_flight_max.saturating_sub(self.in_flight).min(self.waiting.len());
        self.in_flight += count;
        self.waiting.drain(..count).collect()
    }

    pub(super) fn loaded(&mut self, bytes: usize) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.largest = bytes.max(self.largest - self.largest / 8);
    }
}

/// Bytes of a loaded entity.
pub(super) fn loaded_bytes(found: &Result<Option<StoredEntity>, Error>) -> usize {
    let Ok(Some(StoredEntity { head, parts, first_fragment, .. })) = found else { return 0 };
    let parts: usize = parts.iter().map(|(_, value)| value.len()).sum();
    head.len() + parts + first_fragment.as_ref().map_or(0, |fragment| fragment.bytes.len())
}

#[cfg(test)]
mod tests {
    use perennial_engine::NamespaceKey;

    use super::*;

    fn wanted(loading: &mut Loading, count: usize) {
        let entity = |id: usize| EntityRef::run(NamespaceKey(1), &id.to_string(), "");
        (0..count).for_each(|id| loading.enqueue(entity(id)));
    }

    #[test]
    fn after_large_ones_fewer_are_loaded_at_once() {
        let mut loading = Loading::new(1_000);
        wanted(&mut loading, 1_000);
        assert_eq!(loading.take_next().len(), IN_FLIGHT_MAX);
        (0..IN_FLIGHT_MAX).for_each(|_| loading.loaded(200));
        assert_eq!(loading.take_next().len(), 5);
        assert!(loading.take_next().is_empty());
        loading.loaded(5_000);
        (0..4).for_each(|_| loading.loaded(1));
        assert_eq!(loading.take_next().len(), IN_FLIGHT_MIN);
    }
}
