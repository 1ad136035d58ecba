//! Transactions whose own statements are compiled once a connection, as all others are.

use rusqlite::Connection;

/// Undone when dropped, unless it was committed.
pub(super) struct Transaction<'c> {
    connection: &'c Connection,
    is_over: bool,
}

impl<'c> Transaction<'c> {
    /// One that writes, and has the right to from its beginning.
    pub(super) fn of_writer(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::begin(connection, "BEGIN IMMEDIATE")
    }

    /// One that reads: all its statements see the same state.
    pub(super) fn of_reader(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::begin(connection, "BEGIN")
    }

    /// Makes what was written durable.
    pub(super) fn commit(mut self) -> rusqlite::Result<()> {
        run(self.connection, "COMMIT")?;
        self.is_over = true;
        Ok(())
    }

    fn begin(connection: &'c Connection, sql: &str) -> rusqlite::Result<Self> {
        run(connection, sql)?;
        Ok(Self { connection, is_over: false })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SQLite has undone it already after some errors, and says so.
        if !self.is_over && !self.connection.is_autocommit() {
            let _ = run(self.connection, "ROLLBACK");
        }
    }
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.raw_execute().map(drop)
}
