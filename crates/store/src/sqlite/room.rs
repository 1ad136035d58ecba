//! Whether the disk has room, and what is done about it when it hasn't.
//!
//! A full disk refuses writes at once and without trying, so callers hear of it and nothing spins. The reserve is
//! given up to get what was acknowledged into the tables, so reads go on. As soon as one more megabyte can be
//! taken than there was then, writes are accepted again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::lock;
use super::reserve::Reserve;
use crate::Error;

/// How often a full disk is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Room {
    is_full: AtomicBool,
    /// Since when and why writes are refused.
    full: Mutex<Option<(Instant, String)>>,
    /// Held while it is used, which may take as long as the tables do. With it, when the disk was looked at.
    reserve: Mutex<(Reserve, Option<Instant>)>,
    /// Since the disk became full, what was acknowledged has got into the tables, and the reserve took what was left.
    is_settled: AtomicBool,
}

impl Room {
    pub(super) fn new(reserve: Reserve) -> Self {
        Self {
            is_full: AtomicBool::new(false),
            full: Mutex::default(),
            reserve: Mutex::new((reserve, None)),
            is_settled: AtomicBool::new(false),
        }
    }

    /// Refuses a write while the disk is full.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.is_full.load(Ordering::Acquire) {
            return Ok(());
        }
        lock(&self.full).as_ref().map_or(Ok(()), |(_, why)| Err(refusal(why)))
    }

    /// How long until the disk is to be looked at, while it is full.
    pub(super) fn look_again(&self) -> Option<Duration> {
        self.is_full.load(Ordering::Acquire).then_some(LOOK_AGAIN)
    }

    /// Notes that a write found no room. `true` if that is news.
    pub(super) fn note<T>(&self, done: &Result<T, Error>) -> bool {
        let Err(Error::Full(why)) = done else { return false };
        let mut full = lock(&self.full);
        if full.is_some() {
            return false;
        }
        tracing::error!(
            problem = why,
            "the disk is full: writes are refused and reads are served until a megabyte is free"
        );
        *full = Some((Instant::now(), why.clone()));
        self.is_settled.store(false, Ordering::Release);
        self.is_full.store(true, Ordering::Release);
        true
    }

    /// Looks whether there is room again, and accepts writes if so. `settle` brings everything acknowledged into the
    /// tables and gives back what the log takes.
    pub(super) fn try_to_recover(&self, settle: impl Fn() -> Result<(), Error>) {
        let mut held = lock(&self.reserve);
        let (reserve, looked_at) = &mut *held;
        // Not again for each of those who wait for it.
        if looked_at.is_some_and(|at| at.elapsed() < LOOK_AGAIN / 2) {
            return;
        }
        *looked_at = Some(Instant::now());
        if !self.is_settled.load(Ordering::Acquire) {
            let settled = reserve.give_up().and_then(|()| settle());
            reserve.take_all();
            if let Err(error) = settled {
                tracing::debug!(%error, "there is no room for what was acknowledged yet");
                return;
            }
            self.is_settled.store(true, Ordering::Release);
        }
        // Not at once either: what the log gave back lasts a moment, and callers would hear yes and no in turns.
        let since = lock(&self.full).as_ref().map(|(since, _)| *since);
        let is_soon = since.is_some_and(|since| since.elapsed() < LOOK_AGAIN);
        if is_soon || !reserve.has_one_more() {
            return;
        }
        reserve.take_all();
        *looked_at = None;
        self.is_full.store(false, Ordering::Release);
        if let Some((since, _)) = lock(&self.full).take() {
            let seconds = since.elapsed().as_secs();
            tracing::info!(after_seconds = seconds, "the disk has room again: writes are accepted");
        }
    }

    /// The database is closed.
    pub(super) fn end(&self) -> Result<(), Error> {
        lock(&self.reserve).0.remove()
    }
}

fn refusal(why: &str) -> Error {
    Error::Full(format!(
        "{why}; free at least a megabyte on the disk, writes are then accepted again"
    ))
}
