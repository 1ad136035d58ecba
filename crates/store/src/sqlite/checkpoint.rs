//! Moves what was committed from the log into the database, beside the commits.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::{SqliteOptions, connection};
use crate::Error;

/// From this size on the log is moved. Smaller means more writes of the same page; larger means a longer
/// start after a crash, which reads the whole log.
const LOG_BYTES_WANTED: i64 = 16 << 20;

/// From this size on commits wait for the thread: readers that never let go, or a disk that is slower than
/// the writer, would let the log grow without end.
const LOG_BYTES_MAX: i64 = 8 * LOG_BYTES_WANTED;

/// The log's header for each page in it.
const FRAME_HEADER_BYTES: i64 = 24;

/// A thread with a connection of its own, which works when the writer says the log is long.
#[derive(Debug)]
pub(super) struct Checkpoints {
    wanted: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// How long the log was after the last commit, in frames of a page each.
    frames: Arc<AtomicI64>,
    frame_bytes: i64,
}

/// What a commit does after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogLength {
    /// Nothing.
    Short,
    /// Tells the thread.
    Long,
    /// Waits for the thread.
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
        // One waiting signal is enough: it means "look again".
        let (wanted, signals) = sync_channel(1);
        let worker = Worker { connection, writer, frames: Arc::clone(&frames), frame_bytes };
        let thread = thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || worker.run(&signals))
            .map_err(|error| Error::Unavailable(format!("no thread for checkpoints: {error}")))?;
        Ok(Self { wanted: Some(wanted), thread: Some(thread), frames, frame_bytes })
    }

    /// Whether the thread has ended though nobody told it to.
    pub(super) fn has_died(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// How long the log is after a commit.
    pub(super) fn log_length(&self) -> LogLength {
        let frames = self.frames.load(Ordering::Relaxed);
        match frames.saturating_mul(self.frame_bytes) {
            LOG_BYTES_MAX.. => LogLength::TooLong,
            LOG_BYTES_WANTED.. => LogLength::Long,
            _ => LogLength::Short,
        }
    }

    /// Has the log moved. Waits only if it is too long, until the thread has done what it is at; the
    /// caller must not hold the writer then, for the thread needs it.
    pub(super) fn request(&self, length: LogLength) {
        let Some(wanted) = &self.wanted else { return };
        // What can't be sent needn't be: the thread has been told already, or there is none any more.
        match length {
            LogLength::Short => {}
            LogLength::Long => drop(wanted.try_send(())),
            LogLength::TooLong => drop(wanted.send(())),
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        // Without a sender the thread ends after what it is doing.
        self.wanted = None;
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
                        tracing::info!("SQLite's log is moved into the database again");
                    }
                }
                // Tried again after the next commit: the log still holds everything.
                Err(error) if !has_failed => {
                    has_failed = true;
                    tracing::error!(%error, "SQLite's log can't be moved into the database: it grows");
                }
                Err(error) => tracing::debug!(%error, "SQLite's log still can't be moved"),
            }
        }
    }

    /// The log begins anew only when all of it has been moved, and a busy writer adds to it meanwhile. So
    /// most is moved beside the commits, and the little that came since while they wait.
    ///
    /// It begins anew with the next commit, unless that one begins while this thread is at work. A writer
    /// that waits for this thread begins just then, every time: a log that is too long is cut here.
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

/// Moves all of the log into the database, and gives its space back.
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
    /// Does a checkpoint of this mode and says how the log is then.
    fn checkpoint(connection: &Connection, mode: &str) -> Result<Self, Error> {
        let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
        let log =
            statement.query_row((), |row| Ok(Self { frames: row.get(1)?, moved: row.get(2)? }))?;
        Ok(log)
    }

    /// A checkpoint that couldn't be done says -1 of both.
    fn is_moved(self) -> bool {
        self.frames >= 0 && self.moved >= self.frames
    }
}
