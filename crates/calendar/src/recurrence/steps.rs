//! Counts the steps of a search, so that tests can check its bound without a clock.

/// Called once for each candidate of a search.
#[cfg(not(test))]
pub(super) fn step() {}

#[cfg(test)]
pub(super) use counting::{count, step};

#[cfg(test)]
mod counting {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub(in super::super) fn step() {
        STEPS.set(STEPS.get() + 1);
    }

    /// The number of steps that `search` took.
    pub(in super::super) fn count<T>(search: impl FnOnce() -> T) -> (T, usize) {
        let before = STEPS.get();
        let found = search();
        (found, STEPS.get() - before)
    }
}
