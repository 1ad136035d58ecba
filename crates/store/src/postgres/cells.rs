//! The cells: ranges of slots, and who may write them.

use perennial_engine::{Slot, SlotRange};
use tokio_postgres::{Client, Row};

use super::statement::{Statement, int2, int2s, int8, text};
use super::{nodes, transaction};
use crate::{BatchId, CellId, Epoch, Error, Lease, StoredCell, check};

/// All cells, in the order of their slots.
pub(super) async fn read_all(client: &Client) -> Result<Vec<StoredCell>, Error> {
    let rows = Statement::new(include_str!("sql/read_cells.sql"), vec![]).query(client).await?;
    rows.iter().map(stored).collect()
}

/// The cell, whose row stays locked until the transaction ends. Another owner's commit ends first.
pub(super) async fn lock(client: &Client, cell: CellId) -> Result<Option<StoredCell>, Error> {
    let Ok(first_slot) = i16::try_from(cell.0.0) else { return Ok(None) };
    let statement = Statement::new(include_str!("sql/lock_cell.sql"), vec![int2(first_slot)]);
    let mut found = statement.query(client).await?;
    if found.is_empty() {
        // While the statement waited, the cell may have been replaced by one with the same first slot, which only a
        // later statement sees.
        found = statement.query(client).await?;
    }
    found.first().map(stored).transpose()
}

/// Makes `owner` the owner of a cell.
pub(super) async fn take_lease(client: &Client, cell: CellId, owner: &str) -> Result<Lease, Error> {
    transaction::interactive(client, async |client| {
        // Locks the row first: what the owner before wrote last is known only after its commit has ended.
        let Some(before) = lock(client, cell).await? else {
            return Err(Error::Fenced(format!("there is no cell {cell}")));
        };
        give(client, &before, owner).await
    })
    .await
}

/// Makes `node` the owner of a cell, if no other node may own it.
pub(super) async fn take(
    client: &Client,
    cell: CellId,
    node: &str,
) -> Result<Option<Lease>, Error> {
    transaction::interactive(client, async |client| {
        // Locked first, as for a lease.
        let Some(before) = lock(client, cell).await? else {
            return Err(Error::Fenced(format!("there is no cell {cell}")));
        };
        let owner = before.owner.as_str();
        let is_free = owner.is_empty() || owner == node || nodes::has_ended(client, owner).await?;
        if !is_free || !nodes::has_running_lease(client, node).await? {
            return Ok(None);
        }
        give(client, &before, node).await.map(Some)
    })
    .await
}

/// Gives a cell, whose row is locked, to another owner.
async fn give(client: &Client, before: &StoredCell, owner: &str) -> Result<Lease, Error> {
    let epoch = next_epoch(client).await?;
    let parameters = vec![int2(before.slots.first().0 as i16), text(owner), int8(epoch.0)];
    Statement::new(include_str!("sql/take_lease.sql"), parameters).execute(client).await?;
    let last_batch = BatchId { epoch: before.epoch, sequence: before.sequence };
    Ok(Lease { slots: before.slots, epoch, last_batch })
}

/// Takes the owner from a cell, if it has this epoch.
pub(super) async fn release(client: &Client, cell: CellId, epoch: Epoch) -> Result<bool, Error> {
    let Ok(first_slot) = i16::try_from(cell.0.0) else { return Ok(false) };
    let parameters = vec![int2(first_slot), int8(epoch.0)];
    let release = Statement::new(include_str!("sql/release_cell.sql"), parameters);
    Ok(!transaction::pipelined_read(client, &[], &release).await?.is_empty())
}

/// Replaces some cells by others that have the same slots.
pub(super) async fn replace(
    client: &Client,
    old: &[(CellId, Epoch)],
    new: &[SlotRange],
) -> Result<bool, Error> {
    // A cell beyond the last slot is a row that isn't found.
    let firsts: Vec<i16> =
        old.iter().filter_map(|(cell, _)| i16::try_from(cell.0.0).ok()).collect();
    transaction::interactive(client, async |client| {
        let lock = include_str!("sql/lock_some_cells.sql");
        let locked = Statement::new(lock, vec![int2s(firsts.clone())]).query(client).await?;
        let locked = locked.iter().map(stored).collect::<Result<Vec<_>, _>>()?;
        let slots = |(cell, epoch): &(CellId, Epoch)| {
            let mut locked = locked.iter();
            let stored = locked.find(|it| it.slots.first() == cell.0 && it.epoch == *epoch)?;
            Some(stored.slots)
        };
        let Some(replaced) = old.iter().map(slots).collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        check::check_same_slots(&replaced, new)?;
        let epoch = next_epoch(client).await?;
        let delete = include_str!("sql/delete_some_cells.sql");
        Statement::new(delete, vec![int2s(firsts)]).execute(client).await?;
        put_cells(new, epoch).execute(client).await?;
        Ok(true)
    })
    .await
}

/// Replaces all cells by others, under an epoch that none of them had.
pub(super) async fn divide(client: &Client, ranges: &[SlotRange]) -> Result<(), Error> {
    transaction::interactive(client, async |client| {
        Statement::new(include_str!("sql/lock_cells.sql"), vec![]).execute(client).await?;
        let epoch = next_epoch(client).await?;
        Statement::new(include_str!("sql/delete_cells.sql"), vec![]).execute(client).await?;
        put_cells(ranges, epoch).execute(client).await?;
        Ok(())
    })
    .await
}

/// Adds cells that nobody owns.
pub(super) fn put_cells(ranges: &[SlotRange], epoch: Epoch) -> Statement {
    // Slots are below 16,384.
    let firsts = ranges.iter().map(|range| range.first().0 as i16).collect();
    let lasts = ranges.iter().map(|range| range.last().0 as i16).collect();
    let parameters = vec![int2s(firsts), int2s(lasts), int8(epoch.0)];
    Statement::new(include_str!("sql/put_cells.sql"), parameters)
}

async fn next_epoch(client: &Client) -> Result<Epoch, Error> {
    let rows = Statement::new(include_str!("sql/next_epoch.sql"), vec![]).query(client).await?;
    match rows.first() {
        Some(row) => Ok(Epoch(row.try_get(0)?)),
        None => Err(Error::Corrupt("the table `cluster` has no row".to_owned())),
    }
}

/// A cell, from the first columns of a row.
pub(super) fn stored(row: &Row) -> Result<StoredCell, Error> {
    let (first, last): (i16, i16) = (row.try_get(0)?, row.try_get(1)?);
    let range = u16::try_from(first).ok().zip(u16::try_from(last).ok());
    let slots = range
        .and_then(|(first, last)| SlotRange::new(Slot(first), Slot(last)))
        .ok_or_else(|| Error::Corrupt(format!("a cell has the slots {first} to {last}")))?;
    let sequence: i64 = row.try_get(4)?;
    let sequence = u64::try_from(sequence).map_err(|_| {
        Error::Corrupt(format!("the last batch of cell {first} has number {sequence}"))
    })?;
    Ok(StoredCell { slots, owner: row.try_get(2)?, epoch: Epoch(row.try_get(3)?), sequence })
}
