//! The cells: ranges of slots, and who may write them.

use perennial_engine::{Slot, SlotRange};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::write::execute;
use crate::{BatchId, CellId, Epoch, Error, Lease, StoredCell};

/// All cells, in the order of their slots.
pub(super) fn read_all(connection: &Connection) -> Result<Vec<StoredCell>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/read_cells.sql"))?;
    let rows = statement.query_map((), columns)?.collect::<rusqlite::Result<Vec<_>>>()?;
    rows.into_iter().map(stored).collect()
}

/// A cell's epoch and the number of its last batch, if there is such a cell.
pub(super) fn progress(
    connection: &Connection,
    cell: CellId,
) -> Result<Option<(Epoch, u64)>, Error> {
    Ok(read(connection, cell)?.map(|cell| (cell.epoch, cell.sequence)))
}

/// Makes `owner` the owner of a cell.
pub(super) fn take_lease(
    connection: &Connection,
    cell: CellId,
    owner: &str,
) -> Result<Lease, Error> {
    let Some(before) = read(connection, cell)? else {
        return Err(Error::Fenced(format!("there is no cell {cell}")));
    };
    let epoch = next_epoch(connection)?;
    execute(connection, include_str!("sql/take_lease.sql"), params![cell.0.0, owner, epoch.0])?;
    let last_batch = BatchId { epoch: before.epoch, sequence: before.sequence };
    Ok(Lease { slots: before.slots, epoch, last_batch })
}

/// Replaces all cells by others, under an epoch that none of them had.
pub(super) fn divide(connection: &Connection, ranges: &[SlotRange]) -> Result<(), Error> {
    let epoch = next_epoch(connection)?;
    execute(connection, include_str!("sql/delete_cells.sql"), ())?;
    for range in ranges {
        let columns = params![range.first().0, range.last().0, epoch.0];
        execute(connection, include_str!("sql/put_cell.sql"), columns)?;
    }
    Ok(())
}

fn next_epoch(connection: &Connection) -> Result<Epoch, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/next_epoch.sql"))?;
    Ok(Epoch(statement.query_row((), |row| row.get(0))?))
}

fn read(connection: &Connection, cell: CellId) -> Result<Option<StoredCell>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/read_cell.sql"))?;
    statement.query_row([cell.0.0], columns).optional()?.map(stored).transpose()
}

/// First slot, last slot, owner, epoch and sequence.
type Columns = (u16, u16, String, i64, i64);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn stored((first, last, owner, epoch, sequence): Columns) -> Result<StoredCell, Error> {
    let slots = SlotRange::new(Slot(first), Slot(last))
        .ok_or_else(|| Error::Corrupt(format!("a cell has the slots {first} to {last}")))?;
    let sequence = u64::try_from(sequence).map_err(|_| {
        Error::Corrupt(format!("the last batch of cell {first} has number {sequence}"))
    })?;
    Ok(StoredCell { slots, owner, epoch: Epoch(epoch), sequence })
}
