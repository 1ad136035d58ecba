//! Commits batches.

use std::collections::BTreeMap;

use tokio_postgres::Client;

use super::error::is_refusal;
use super::refusal::refusal;
use super::stage::statements;
use super::statement::{Statement, int2, int8};
use super::transaction;
use crate::merge::Merged;
use crate::{Batch, CellId, Epoch, Error};

/// Commits the batches in one transaction. Each cell's fence comes first, in the order of the cells, so that two
/// transactions never wait for each other.
pub(super) async fn commit(client: &Client, batches: &[Batch]) -> Result<(), Error> {
    let Some(fences) = fences(batches) else {
        return Err(refusal(client, batches).await);
    };
    let mut statements_of_all: Vec<Statement> = fences.iter().map(Fence::statement).collect();
    statements_of_all.extend(rows_of(batches));
    let done = transaction::pipelined(client, &statements_of_all).await;
    match done {
        Ok(()) => Ok(()),
        Err(error) if error.code().is_some_and(is_refusal) => Err(refusal(client, batches).await),
        Err(error) => Err(error.into()),
    }
}

/// The statements that write the rows of the batches.
fn rows_of(batches: &[Batch]) -> Vec<Statement> {
    let mut merged = Merged::default();
    batches.iter().cloned().for_each(|batch| merged.add(batch));
    merged.into_batch().map_or_else(Vec::new, statements)
}

/// Moves a cell's sequence number on, and fails if the cell has another owner or another number.
#[derive(Debug)]
pub(super) struct Fence {
    cell: i16,
    epoch: Epoch,
    before: i64,
    after: i64,
}

impl Fence {
    pub(super) fn statement(&self) -> Statement {
        let Self { cell, epoch, before, after } = self;
        let parameters = vec![int2(*cell), int8(epoch.0), int8(*before), int8(*after)];
        Statement::new(include_str!("sql/advance_sequence.sql"), parameters)
    }
}

/// A fence for each cell, in the order of the cells. `None` if the batches of a cell don't follow each other.
pub(super) fn fences(batches: &[Batch]) -> Option<Vec<Fence>> {
    let mut fences: BTreeMap<CellId, Fence> = BTreeMap::new();
    for Batch { cell, epoch, sequence, .. } in batches {
        let sequence = i64::try_from(*sequence).ok().filter(|number| *number > 0)?;
        let first = Fence {
            cell: i16::try_from(cell.0.0).ok()?,
            epoch: *epoch,
            before: sequence - 1,
            after: sequence - 1,
        };
        let fence = fences.entry(*cell).or_insert(first);
        if fence.epoch != *epoch || fence.after != sequence - 1 {
            return None;
        }
        fence.after = sequence;
    }
    Some(fences.into_values().collect())
}
