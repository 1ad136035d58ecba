//! Interned namespace keys, and generators of new keys and ids.

use std::cell::Cell;

use uuid::{Builder, Uuid};

use crate::Time;

/// The number of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceKey(pub i64);

/// Generates ascending keys for new entities, tasks and messages, each once.
#[derive(Debug)]
pub struct FreshKeys {
    last: Cell<i64>,
}

impl FreshKeys {
    /// A generator of keys above `last`.
    pub fn above(last: i64) -> Self {
        Self { last: Cell::new(last) }
    }

    /// A new key.
    pub fn next(&self) -> i64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    /// The key that was generated last.
    pub fn last(&self) -> i64 {
        self.last.get()
    }
}

/// Generates unique ids from a seed. The seed is an argument, because the engine has no randomness of its own.
#[derive(Debug)]
pub struct FreshIds {
    state: Cell<u64>,
}

impl FreshIds {
    /// A generator whose ids depend only on `seed` and on the times passed to [`Self::next`].
    pub fn from_seed(seed: u64) -> Self {
        Self { state: Cell::new(seed) }
    }

    /// Generates an id: a UUIDv7, so that ids ascend with time.
    pub fn next(&self, now: Time) -> String {
        let random = [self.next_u64(), self.next_u64()].map(u64::to_le_bytes).concat();
        let mut tail = [0; 10];
        tail.copy_from_slice(&random[..10]);
        let millis = u64::try_from(now.0 / 1_000_000).unwrap_or(0);
        let id: Uuid = Builder::from_unix_timestamp_millis(millis, &tail).into_uuid();
        id.to_string()
    }

    /// SplitMix64: every seed gives a sequence that doesn't repeat for 2^64 steps.
    fn next_u64(&self) -> u64 {
        let state = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
