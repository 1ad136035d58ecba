//! Writes batches to the tables.

use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, params};

use super::cells;
use super::write_entity::write_entity;
use crate::check::check_order;
use crate::numbers::record_kind_number;
use crate::{Batch, Error, MessageWrite, RecordWrite, TaskWrite};

/// Writes a batch, and stores its number. On an error the caller's transaction has to be rolled back.
pub(super) fn write_batch(connection: &Connection, batch: &Batch) -> Result<(), Error> {
    advance(connection, batch)?;
    write_rows(connection, batch)
}

/// Writes the rows of a batch without a check of its epoch and number.
pub(super) fn write_rows(connection: &Connection, batch: &Batch) -> Result<(), Error> {
    for entity in &batch.entities {
        write_entity(connection, entity)?;
    }
    for task in &batch.tasks {
        match task {
            TaskWrite::Put(task) => execute(
                connection,
                include_str!("sql/put_task.sql"),
                params![task.key, task.slot.0, task.value],
            )?,
            TaskWrite::Delete(key) => {
                execute(connection, include_str!("sql/delete_task.sql"), [key])?
            }
        };
    }
    for message in &batch.messages {
        match message {
            MessageWrite::Put { key, slot, value } => execute(
                connection,
                include_str!("sql/put_message.sql"),
                params![key, slot.0, value],
            )?,
            MessageWrite::Delete(key) => {
                execute(connection, include_str!("sql/delete_message.sql"), [key])?
            }
        };
    }
    batch.records.iter().try_for_each(|record| write_record(connection, record))
}

/// Checks the epoch and the sequence number of a batch, and stores the number.
pub(super) fn advance(connection: &Connection, batch: &Batch) -> Result<(), Error> {
    let Batch { cell, epoch, sequence, .. } = batch;
    let sql = include_str!("sql/advance_sequence.sql");
    // A number beyond SQLite's range can't follow a stored one.
    let number = i64::try_from(*sequence).unwrap_or(0);
    if number > 0 && execute(connection, sql, params![cell.0.0, epoch.0, number])? == 1 {
        return Ok(());
    }
    check_order(batch, cells::progress(connection, *cell)?)?;
    Err(Error::Conflict(format!("batch {sequence} of cell {cell} can't be counted")))
}

/// Writes a record if the stored one is the expected one.
pub(super) fn compare_and_set(
    connection: &Connection,
    record: &RecordWrite,
    expected: Option<&[u8]>,
) -> Result<bool, Error> {
    let kind = record_kind_number(record.kind);
    let stored: Option<Vec<u8>> = connection
        .prepare_cached(include_str!("sql/read_record.sql"))?
        .query_row(params![kind, record.key], |row| row.get(0))
        .optional()?;
    if stored.as_deref() != expected {
        return Ok(false);
    }
    write_record(connection, record)?;
    Ok(true)
}

fn write_record(connection: &Connection, record: &RecordWrite) -> Result<(), Error> {
    let RecordWrite { kind, key, value } = record;
    let kind = record_kind_number(*kind);
    match value {
        Some(value) => {
            execute(connection, include_str!("sql/put_record.sql"), params![kind, key, value])?
        }
        None => execute(connection, include_str!("sql/delete_record.sql"), params![kind, key])?,
    };
    Ok(())
}

/// Runs a statement that is prepared once, and returns how many rows it changed.
pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<usize> {
    connection.prepare_cached(sql)?.execute(params)
}

/// Replaces SQLite's error of a violated constraint by our own text.
pub(super) fn explain_constraint(
    result: rusqlite::Result<usize>,
    problem: impl FnOnce() -> String,
) -> Result<usize, Error> {
    result.map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => Error::Conflict(problem()),
        _ => error.into(),
    })
}
