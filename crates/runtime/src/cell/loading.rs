//! How much is loaded at once: what is on its way from the store is in memory too.

use std::collections::VecDeque;

use perennial_engine::EntityRef;
use perennial_store::{Error, StoredEntity};

/// Loads under way, whatever their size.
const AT_ONCE_MAX: usize = 256;
/// The store is asked for so many even if those before were as large as all memory there is.
const AT_ONCE_LEAST: usize = 2;

/// Loads under way, and those that wait for them.
pub(super) struct Loading {
    bytes_max: usize,
    under_way: usize,
    waiting: VecDeque<EntityRef>,
    /// Bytes of the largest that was loaded of late: the next one may be as large.
    largest: usize,
}

impl Loading {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, under_way: 0, waiting: VecDeque::new(), largest: 0 }
    }

    /// Something is to be loaded when it is its turn.
    pub(super) fn want(&mut self, wanted: EntityRef) {
        self.waiting.push_back(wanted);
    }

    /// Something is loaded at once, because a batch waits for it.
    pub(super) fn want_now(&mut self) {
        self.under_way += 1;
    }

    /// What to load now.
    pub(super) fn take_next(&mut self) -> Vec<EntityRef> {
        let at_once = self.bytes_max / self.largest.max(1);
        let at_once = at_once.clamp(AT_ONCE_LEAST, AT_ONCE_MAX);
        let count = at_once.saturating_sub(self.under_way).min(self.waiting.len());
        self.under_way += count;
        self.waiting.drain(..count).collect()
    }

    pub(super) fn loaded(&mut self, bytes: usize) {
        self.under_way = self.under_way.saturating_sub(1);
        self.largest = bytes.max(self.largest - self.largest / 8);
    }
}

/// Bytes of what was loaded.
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
        (0..count).for_each(|id| loading.want(entity(id)));
    }

    #[test]
    fn after_large_ones_fewer_are_loaded_at_once() {
        let mut loading = Loading::new(1_000);
        wanted(&mut loading, 1_000);
        assert_eq!(loading.take_next().len(), AT_ONCE_MAX);
        (0..AT_ONCE_MAX).for_each(|_| loading.loaded(200));
        assert_eq!(loading.take_next().len(), 5);
        assert!(loading.take_next().is_empty());
        loading.loaded(5_000);
        (0..4).for_each(|_| loading.loaded(1));
        assert_eq!(loading.take_next().len(), AT_ONCE_LEAST);
    }
}
