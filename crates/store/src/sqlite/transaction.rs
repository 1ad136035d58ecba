//! Transactions whose BEGIN, COMMIT and ROLLBACK are prepared once per connection, as all other statements are.

use rusqlite::Connection;

/// A transaction, rolled back on drop unless it was committed.
pub(super) struct Transaction<'c> {
    connection: &'c Connection,
    is_over: bool,
}

impl<'c> Transaction<'c> {
    /// A transaction that writes. It has the write lock from its beginning.
    pub(super) fn of_writer(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::begin(connection, "BEGIN IMMEDIATE")
    }

    /// A transaction that reads: all its statements see the same state.
    pub(super) fn of_reader(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::begin(connection, "BEGIN")
    }

    /// Commits, durably.
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
        // After some errors SQLite has rolled back already.
        if !self.is_over && !self.connection.is_autocommit() {
            let _ = run(self.connection, "ROLLBACK");
        }
    }
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.raw_execute().map(drop)
}
