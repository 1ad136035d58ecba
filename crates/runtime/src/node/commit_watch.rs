//! Notices a commit that doesn't end: a disk may hang without an error.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::lock;

/// Knows since when the commit in progress runs. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct CommitWatch(Arc<Mutex<Option<Instant>>>);

/// A commit in progress.
pub(crate) struct WatchedCommit<'a>(&'a CommitWatch);

impl CommitWatch {
    /// A commit begins. It ends when the value is dropped.
    pub(crate) fn begin(&self) -> WatchedCommit<'_> {
        *lock(&self.0) = Some(Instant::now());
        WatchedCommit(self)
    }

    /// How long the commit in progress runs, if there is one.
    pub(crate) fn running_for(&self) -> Option<Duration> {
        lock(&self.0).map(|begun| begun.elapsed())
    }
}

impl Drop for WatchedCommit<'_> {
    fn drop(&mut self) {
        *lock(&self.0.0) = None;
    }
}
