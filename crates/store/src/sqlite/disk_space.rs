//! What happens when the disk is full.
//!
//! While the disk is full, writes are refused at once and without an attempt, so that callers learn of it and nothing
//! spins. The reserve file is released, so that acknowledged batches can be applied to the tables and reads go on.
//! Writes are accepted again as soon as the disk has a megabyte more than it had then.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::lock;
use super::reserve_file::ReserveFile;
use crate::Error;

/// How often the free space of a full disk is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Whether the disk is full, and the space that is kept in reserve.
#[derive(Debug)]
pub(super) struct DiskSpace {
    is_full: AtomicBool,
    /// When the disk became full, and the error that told.
    full: Mutex<Option<(Instant, String)>>,
    /// The reserve file, and when the free space was last checked. Locked while batches are applied, which may take
    /// long.
    reserve: Mutex<(ReserveFile, Option<Instant>)>,
    /// Whether acknowledged batches have been applied to the tables since the disk became full.
    is_applied: AtomicBool,
}

impl DiskSpace {
    pub(super) fn new(reserve: ReserveFile) -> Self {
        Self {
            is_full: AtomicBool::new(false),
            full: Mutex::default(),
            reserve: Mutex::new((reserve, None)),
            is_applied: AtomicBool::new(false),
        }
    }

    /// Refuses a write while the disk is full.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.is_full.load(Ordering::Acquire) {
            return Ok(());
        }
        lock(&self.full).as_ref().map_or(Ok(()), |(_, why)| Err(refusal(why)))
    }

    /// How long to wait between checks of a full disk; `None` if the disk isn't full.
    pub(super) fn time_to_next_check(&self) -> Option<Duration> {
        self.is_full.load(Ordering::Acquire).then_some(CHECK_INTERVAL)
    }

    /// Whether the disk is full and acknowledged batches haven't been applied to the tables since.
    pub(super) fn needs_reserve(&self) -> bool {
        self.is_full.load(Ordering::Acquire) && !self.is_applied.load(Ordering::Acquire)
    }

    /// Refuses writes from now on if the result says that the disk is full. Returns `true` if they were accepted before.
    pub(super) fn note_if_full<T>(&self, result: &Result<T, Error>) -> bool {
        let Err(Error::Full(why)) = result else { return false };
        let mut full = lock(&self.full);
        if full.is_some() {
            return false;
        }
        tracing::error!(
            problem = why,
            "the disk is full: writes are refused and reads are served until a megabyte is free"
        );
        *full = Some((Instant::now(), why.clone()));
        self.is_applied.store(false, Ordering::Release);
        self.is_full.store(true, Ordering::Release);
        true
    }

    /// Checks whether there is free space again, and accepts writes if so. `apply` applies all acknowledged batches to
    /// the tables and truncates SQLite's log.
    pub(super) fn try_to_recover(&self, apply: impl Fn() -> Result<(), Error>) {
        let mut held = lock(&self.reserve);
        let (reserve, last_check) = &mut *held;
        // Several threads may wait for the same check.
        if last_check.is_some_and(|at| at.elapsed() < CHECK_INTERVAL / 2) {
            return;
        }
        *last_check = Some(Instant::now());
        if !self.is_applied.load(Ordering::Acquire) {
            let applied = reserve.release().and_then(|()| apply());
            reserve.refill();
            if let Err(error) = applied {
                tracing::debug!(%error, "the disk has no space yet for acknowledged batches");
                return;
            }
            self.is_applied.store(true, Ordering::Release);
        }
        // The space that the truncated log released lasts only a moment: writes would be accepted and refused in turns.
        let since = lock(&self.full).as_ref().map(|(since, _)| *since);
        let is_soon = since.is_some_and(|since| since.elapsed() < CHECK_INTERVAL);
        if is_soon || !reserve.can_grow() {
            return;
        }
        reserve.refill();
        *last_check = None;
        self.is_full.store(false, Ordering::Release);
        if let Some((since, _)) = lock(&self.full).take() {
            let seconds = since.elapsed().as_secs();
            tracing::info!(
                after_seconds = seconds,
                "the disk has free space again: writes are accepted"
            );
        }
    }

    /// Removes the reserve file when the database is closed.
    pub(super) fn close(&self) -> Result<(), Error> {
        lock(&self.reserve).0.remove()
    }
}

/// The error, and what to do if it says that the disk is full.
pub(super) fn with_advice(error: Error) -> Error {
    match error {
        Error::Full(why) => refusal(&why),
        other => other,
    }
}

fn refusal(why: &str) -> Error {
    Error::Full(format!(
        "{why}; free at least a megabyte on the disk, writes are then accepted again"
    ))
}
