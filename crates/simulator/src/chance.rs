//! Pseudo-random numbers from a seed.

use std::cell::Cell;

/// A generator: the same seed gives the same numbers.
#[derive(Debug)]
pub(crate) struct Chance {
    state: Cell<u64>,
}

impl Chance {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self { state: Cell::new(seed) }
    }

    /// An independent generator, so that the draws of one part of the world don't shift those of others.
    pub(crate) fn fork(&self) -> Self {
        Self::from_seed(self.next())
    }

    /// SplitMix64.
    pub(crate) fn next(&self) -> u64 {
        let state = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..end`; 0 if the range is empty.
    pub(crate) fn below(&self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    pub(crate) fn between(&self, first: i64, last: i64) -> i64 {
        let span = u64::try_from(last - first + 1).unwrap_or(1);
        first + i64::try_from(self.next() % span).unwrap_or(0)
    }

    /// True with a probability of so many in a thousand.
    pub(crate) fn permille(&self, times: u32) -> bool {
        self.next() % 1_000 < u64::from(times)
    }

    pub(crate) fn percent(&self, times: u32) -> bool {
        self.permille(times * 10)
    }

    pub(crate) fn pick<'a, T>(&self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len()))
    }
}
