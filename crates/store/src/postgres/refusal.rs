//! Finds out why PostgreSQL refused a commit.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::commit::fences;
use super::error::text;
use super::stage::statements;
use super::statement::Statement;
use super::{cells, transaction};
use crate::check::check_order;
use crate::{Batch, EntityWrite, Error};

/// Why a commit was refused: writes one row after the other, up to the one that fails, and rolls back.
///
/// A commit sends rows of many entities at once, so its own error names none of them.
pub(super) async fn refusal(client: &Client, batches: &[Batch]) -> Error {
    let tried: Result<(), Error> = transaction::interactive(client, async |client| {
        for batch in batches {
            write_slowly(client, batch).await?;
        }
        Err(Error::Unavailable("the database refused a commit, and then accepted it".to_owned()))
    })
    .await;
    match tried {
        Err(error) => error,
        Ok(()) => Error::Unavailable("the database refused a commit".to_owned()),
    }
}

async fn write_slowly(client: &Client, batch: &Batch) -> Result<(), Error> {
    let cell = cells::lock(client, batch.cell).await?;
    check_order(batch, cell.map(|cell| (cell.epoch, cell.sequence)))?;
    // The order was checked, so there is one.
    for fence in fences(std::slice::from_ref(batch)).unwrap_or_default() {
        fence.statement().execute(client).await?;
    }
    let mut rest = batch.clone();
    for write in std::mem::take(&mut rest.entities) {
        for row in rows(write) {
            let described = describe(&row);
            let entities = vec![row];
            let nothing_else = Batch::empty(batch.cell, batch.epoch, batch.sequence);
            for statement in statements(Batch { entities, ..nothing_else }) {
                execute(client, &statement, &described).await?;
            }
        }
    }
    for statement in statements(rest) {
        let place = format!("batch {} of cell {}", batch.sequence, batch.cell);
        let described = Described { missing: place.clone(), present: place };
        execute(client, &statement, &described).await?;
    }
    Ok(())
}

/// The write without its history, then each fragment by itself.
fn rows(mut write: EntityWrite) -> Vec<EntityWrite> {
    let history = std::mem::take(&mut write.history);
    let of_entity = EntityWrite::of(write.kind, write.key);
    let fragment = |fragment| EntityWrite { history: vec![fragment], ..of_entity.clone() };
    let fragments = history.into_iter().map(fragment);
    std::iter::once(write).chain(fragments).collect()
}

/// What is wrong if the write is refused: the entity is missing, or a row is there already.
struct Described {
    missing: String,
    present: String,
}

fn describe(write: &EntityWrite) -> Described {
    let (kind, key) = (write.kind.name(), write.key.0);
    let present = match (&write.created, write.history.first()) {
        (Some(created), _) => match &created.run {
            Some(run) => format!("there is a run {key} already, or one with the id {}", run.run_id),
            None => format!("there is a {kind} {key} already"),
        },
        (None, Some(fragment)) => {
            format!("run {key} has an event {} already", fragment.first_event_id)
        }
        (None, None) => format!("{kind} {key} has such a row already"),
    };
    Described { missing: format!("there is no {kind} {key}"), present }
}

async fn execute(client: &Client, statement: &Statement, row: &Described) -> Result<(), Error> {
    let Err(error) = statement.execute(client).await else { return Ok(()) };
    Err(match error.code() {
        // Statements divide by zero where a row is missing.
        Some(&SqlState::DIVISION_BY_ZERO) => Error::Conflict(row.missing.clone()),
        Some(&SqlState::UNIQUE_VIOLATION) => {
            Error::Conflict(format!("{}: {}", row.present, text(&error)))
        }
        Some(_) | None => error.into(),
    })
}
