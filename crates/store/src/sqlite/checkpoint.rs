//! Checkpoints: a thread moves committed pages from SQLite's write-ahead log into the database while commits go on.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::{SqliteOptions, connection};
use crate::Error;

/// From this size on the log is checkpointed. A smaller value means more writes of the same page, a larger one a longer
/// start after a crash, which reads the whole log.
const CHECKPOINT_LOG_BYTES: i64 = 16 << 20;

/// From this size on commits wait for the checkpoint. Otherwise long reads, or a disk that is slower than the writer,
/// could make the log grow without bound.
const LOG_BYTES_MAX: i64 = 8 * CHECKPOINT_LOG_BYTES;

/// The header of each page in the log.
const FRAME_HEADER_BYTES: i64 = 24;

/// The checkpoint thread, with a connection of its own.
#[derive(Debug)]
pub(super) struct Checkpoints {
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// How long the log was after the last commit, in frames of a page each.
    frames: Arc<AtomicI64>,
    frame_bytes: i64,
}

/// How long the log is after a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogLength {
    /// No checkpoint is needed.
    Short,
    /// The commit requests a checkpoint.
    Long,
    /// The commit requests a checkpoint and waits until the thread takes the request.
    TooLong,
}

impl Checkpoints {
    pub(super) fn start(
        file: &Path,
        options: &SqliteOptions,
        writer: Arc<Mutex<Connection>>,
    ) -> Result<Self, Error> {
        let connection = connection::checkpointer(file, options)?;
        let page_bytes: i64 =
            connection.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?;
        let frame_bytes = page_bytes + FRAME_HEADER_BYTES;
        let frames = Arc::new(AtomicI64::new(0));
        let after_commit = {
            let frames = Arc::clone(&frames);
            move |_: &mut Wal, pages| {
                frames.store(i64::from(pages), Ordering::Relaxed);
                Ok(())
            }
        };
        writer.lock().unwrap_or_else(PoisonError::into_inner).wal_hook(Some(after_commit))?;
        // One pending request is enough.
        let (requests, signals) = sync_channel(1);
        let worker = Worker { connection, writer, frames: Arc::clone(&frames), frame_bytes };
        let thread = thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || worker.run(&signals))
            .map_err(|error| Error::Unavailable(format!("no thread for checkpoints: {error}")))?;
        Ok(Self { requests: Some(requests), thread: Some(thread), frames, frame_bytes })
    }

    /// Whether the thread has ended unexpectedly.
    pub(super) fn has_died(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// How long the log is after a commit.
    pub(super) fn log_length(&self) -> LogLength {
        let frames = self.frames.load(Ordering::Relaxed);
        match frames.saturating_mul(self.frame_bytes) {
            LOG_BYTES_MAX.. => LogLength::TooLong,
            CHECKPOINT_LOG_BYTES.. => LogLength::Long,
            _ => LogLength::Short,
        }
    }

    /// Requests a checkpoint, depending on the length of the log. If the log is too long, waits until the thread has
    /// finished its present checkpoint. The caller must not hold the writer's lock then: the thread needs it.
    pub(super) fn request(&self, length: LogLength) {
        let Some(requests) = &self.requests else { return };
        // If nothing can be sent, a request is pending already, or the thread has ended.
        match length {
            LogLength::Short => {}
            LogLength::Long => drop(requests.try_send(())),
            LogLength::TooLong => drop(requests.send(())),
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        // Without a sender the thread ends after its present checkpoint.
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    connection: Connection,
    writer: Arc<Mutex<Connection>>,
    frames: Arc<AtomicI64>,
    frame_bytes: i64,
}

impl Worker {
    fn run(&self, signals: &Receiver<()>) {
        let mut has_failed = false;
        while signals.recv().is_ok() {
            match self.checkpoint() {
                Ok(()) => {
                    if std::mem::take(&mut has_failed) {
                        tracing::info!("checkpoints of SQLite's log work again");
                    }
                }
                // The next commit tries again: the log still holds everything.
                Err(error) if !has_failed => {
                    has_failed = true;
                    tracing::error!(%error, "a checkpoint of SQLite's log failed: the log grows");
                }
                Err(error) => tracing::debug!(%error, "a checkpoint of SQLite's log failed again"),
            }
        }
    }

    /// SQLite reuses the log from its beginning only when all of it has been moved, and a busy writer adds to it
    /// meanwhile. So most pages are moved while commits go on, and the few that were added since while commits wait.
    ///
    /// The next commit begins the log anew, unless it starts while this checkpoint runs. A writer that waits for this
    /// thread starts just then, every time: so a log that is too long is truncated here.
    fn checkpoint(&self) -> Result<(), Error> {
        let is_too_long =
            || self.frames.load(Ordering::Relaxed) >= LOG_BYTES_MAX / self.frame_bytes;
        let log = Log::checkpoint(&self.connection, "PASSIVE")?;
        if log.is_moved() && !is_too_long() {
            return Ok(());
        }
        let _commits_wait = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = if is_too_long() { "TRUNCATE" } else { "PASSIVE" };
        Log::checkpoint(&self.connection, mode).map(drop)
    }
}

/// Moves all of the log into the database, and truncates it.
pub(super) fn truncate_log(connection: &Connection) -> Result<(), Error> {
    Log::checkpoint(connection, "TRUNCATE").map(drop)
}

/// How long the log is, in frames of a page each.
#[derive(Debug, Clone, Copy)]
struct Log {
    frames: i64,
    moved: i64,
}

impl Log {
    /// Does a checkpoint of this mode, and returns the state of the log after it.
    fn checkpoint(connection: &Connection, mode: &str) -> Result<Self, Error> {
        let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
        let log =
            statement.query_row((), |row| Ok(Self { frames: row.get(1)?, moved: row.get(2)? }))?;
        Ok(log)
    }

    /// Whether all of the log is in the database. Both numbers are -1 if the checkpoint failed.
    fn is_moved(self) -> bool {
        self.frames >= 0 && self.moved >= self.frames
    }
}
