//! Connections and their settings.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::SqliteOptions;
use super::migrate::refuse_foreign;
use super::ownership::held;
use crate::{Durability, Error};

/// Another tool may hold a lock for a moment: a backup, a shell.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// More than there are statements in `sql/`, so that each is compiled once a connection.
const STATEMENTS_MAX: usize = 128;

/// Page caches in KiB. The writer uses the same hot pages in every commit, a reader seldom does, and a lookup of whether
/// something exists uses the ends of a few indexes.
const WRITER_CACHE_KIB: i64 = 8 * 1024;
const READER_CACHE_KIB: i64 = 4 * 1024;
const LOOKUP_CACHE_KIB: i64 = 1024;

/// Connections are used by one thread at a time, and the path is the file's own name.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// The one connection that writes. It locks the file: [`Error::Fenced`] if another process has.
pub(super) fn writer(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    let durability = options.durability;
    let connection = open(path, options)?;
    // Another process holds its lock as long as it lives: waiting would not help.
    connection.busy_timeout(Duration::ZERO)?;
    if let Err(error) = connection.query_row("SELECT COUNT(*) FROM sqlite_schema", (), |_| Ok(()))
        && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
    {
        drop(connection);
        return Err(held(path));
    }
    // Before anything in the file is changed.
    refuse_foreign(&connection)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        let problem = format!("its journal is `{mode}`: the file system allows no write-ahead log");
        return Err(Error::Unavailable(problem + "; choose a local disk"));
    }
    let synchronous = match durability {
        Durability::PowerLoss => "FULL",
        Durability::ProcessCrash => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Only has an effect on macOS, where a plain fsync leaves the data in the drive's cache.
    connection.pragma_update(None, "fullfsync", durability == Durability::PowerLoss)?;
    configure(&connection, WRITER_CACHE_KIB)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    reading(path, options, READER_CACHE_KIB)
}

/// A connection that only looks up whether something exists.
pub(super) fn lookup(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    reading(path, options, LOOKUP_CACHE_KIB)
}

fn reading(path: &Path, options: &SqliteOptions, cache_kib: i64) -> Result<Connection, Error> {
    let connection = open(path, options)?;
    connection.pragma_update(None, "query_only", true)?;
    configure(&connection, cache_kib)?;
    Ok(connection)
}

/// The connection of the checkpoint thread.
pub(super) fn checkpointer(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    let connection = open(path, options)?;
    let full = options.durability == Durability::PowerLoss;
    connection.pragma_update(None, "checkpoint_fullfsync", full)?;
    configure(&connection, 0)?;
    Ok(connection)
}

/// A database in memory, which exists as long as its connection.
pub(super) fn in_memory() -> Result<Connection, Error> {
    let connection = Connection::open_in_memory()?;
    configure(&connection, WRITER_CACHE_KIB)?;
    Ok(connection)
}

fn open(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    Ok(Connection::open_with_flags_and_vfs(path, FLAGS, options.files.sqlite_vfs())?)
}

fn configure(connection: &Connection, cache_kib: i64) -> Result<(), Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Otherwise SQLite may compile a statement again for other parameter values, to find a better plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    // The checkpoint thread does checkpoints: a commit must never wait for one.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(())
}
