//! The row of the database about its redo file.

use rusqlite::Connection;

use super::record::DatabaseId;
use crate::Error;

/// The row of the table `redo`. By it a redo file that is missing, cut, or of another database is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sqlite) struct RedoState {
    pub(in crate::sqlite) database: DatabaseId,
    /// A process has the file open, or died with it open: it may hold records that aren't in the tables.
    pub(in crate::sqlite) is_in_use: bool,
    /// The number of the last record that is in the tables or was discarded; the column is called `settled`.
    pub(in crate::sqlite) last_applied: u64,
}

impl RedoState {
    pub(in crate::sqlite) fn read(connection: &Connection) -> Result<Self, Error> {
        let mut statement =
            connection.prepare_cached(include_str!("../sql/read_redo_state.sql"))?;
        let (database, is_in_use, last_applied) =
            statement.query_row((), |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?)))?;
        let last_applied = u64::try_from(last_applied).map_err(|_| {
            Error::Corrupt(format!("the tables hold redo records up to {last_applied}"))
        })?;
        Ok(Self { database, is_in_use, last_applied })
    }
}

/// Stores that records up to this number are in the tables with the caller's transaction, or are discarded.
pub(in crate::sqlite) fn mark_applied(connection: &Connection, number: u64) -> Result<(), Error> {
    let number = i64::try_from(number)
        .map_err(|_| Error::Conflict(format!("redo record {number} is out of range")))?;
    connection.prepare_cached(include_str!("../sql/mark_redo_applied.sql"))?.execute([number])?;
    Ok(())
}

pub(in crate::sqlite) fn set_in_use(connection: &Connection, is_in_use: bool) -> Result<(), Error> {
    connection.prepare_cached(include_str!("../sql/set_redo_in_use.sql"))?.execute([is_in_use])?;
    Ok(())
}

/// Random bytes that users can't guess.
pub(in crate::sqlite) fn fresh_salt(connection: &Connection) -> Result<[u8; 16], Error> {
    Ok(connection.query_row("SELECT randomblob(16)", (), |row| row.get(0))?)
}
