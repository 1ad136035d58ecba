//! What the tables say of the redo file.

use rusqlite::Connection;

use super::record::DatabaseId;
use crate::Error;

/// A row of the database: without it nobody would notice a redo file that is missing, foreign or cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sqlite) struct RedoState {
    pub(in crate::sqlite) database: DatabaseId,
    /// A process has the file open, or died with it: records may be there that aren't in the tables.
    pub(in crate::sqlite) is_in_use: bool,
    /// Number of the last record that is in the tables, or never will be.
    pub(in crate::sqlite) settled: u64,
}

impl RedoState {
    pub(in crate::sqlite) fn read(connection: &Connection) -> Result<Self, Error> {
        let mut statement =
            connection.prepare_cached(include_str!("../sql/read_redo_state.sql"))?;
        let (database, is_in_use, settled) =
            statement.query_row((), |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?)))?;
        let settled = u64::try_from(settled)
            .map_err(|_| Error::Corrupt(format!("the tables hold redo records up to {settled}")))?;
        Ok(Self { database, is_in_use, settled })
    }
}

/// Records up to this number are in the tables with the caller's transaction, or never will be.
pub(in crate::sqlite) fn settle(connection: &Connection, number: u64) -> Result<(), Error> {
    let number = i64::try_from(number)
        .map_err(|_| Error::Conflict(format!("redo record {number} is out of range")))?;
    connection.prepare_cached(include_str!("../sql/settle_redo.sql"))?.execute([number])?;
    Ok(())
}

pub(in crate::sqlite) fn set_in_use(connection: &Connection, is_in_use: bool) -> Result<(), Error> {
    connection.prepare_cached(include_str!("../sql/set_redo_in_use.sql"))?.execute([is_in_use])?;
    Ok(())
}

/// Bytes that nobody can guess.
pub(in crate::sqlite) fn fresh_salt(connection: &Connection) -> Result<[u8; 16], Error> {
    Ok(connection.query_row("SELECT randomblob(16)", (), |row| row.get(0))?)
}
