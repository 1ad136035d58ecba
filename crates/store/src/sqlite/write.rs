//! What a batch does to the tables.

use perennial_engine::{RunKey, Time};
use rusqlite::{Connection, ErrorCode, Params, params};

use super::read::lease;
use super::write_schedule::write_schedule;
use crate::check::{follows, run_id_bytes};
use crate::{
    Batch, Epoch, Error, Fragment, LastBatch, Lease, Listed, MessageWrite, NewRun, RecordKind,
    RecordWrite, RunWrite, TaskWrite, visibility,
};

/// Makes the caller the owner of `cell`.
pub(super) fn take_lease(connection: &Connection, cell: u32) -> Result<Lease, Error> {
    let before = lease(connection, cell)?;
    let mut statement = connection.prepare_cached(include_str!("sql/take_lease.sql"))?;
    let epoch = statement.query_row([cell], |row| row.get(0))?;
    let last_batch = before.map(|(epoch, sequence)| LastBatch { epoch, sequence });
    Ok(Lease { epoch: Epoch(epoch), last_batch })
}

/// Does what `batch` says. The caller's transaction undoes it if it doesn't fit.
pub(super) fn write_batch(connection: &Connection, batch: &Batch) -> Result<(), Error> {
    advance(connection, batch)?;
    write_rows(connection, batch)
}

/// The same without a look at who says it.
pub(super) fn write_rows(connection: &Connection, batch: &Batch) -> Result<(), Error> {
    for run in &batch.runs {
        write_run(connection, run)?;
    }
    for schedule in &batch.schedules {
        write_schedule(connection, schedule)?;
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

/// As it is stored; never changed, only added to.
pub(super) fn record_kind_number(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Namespace => 1,
        RecordKind::BatchJob => 2,
        RecordKind::Cluster => 3,
    }
}

/// Fences, and counts the batch.
pub(super) fn advance(connection: &Connection, batch: &Batch) -> Result<(), Error> {
    let Batch { cell, epoch, sequence, .. } = batch;
    let sql = include_str!("sql/advance_sequence.sql");
    // A number that doesn't fit follows none that is stored.
    let number = i64::try_from(*sequence).unwrap_or(0);
    if number > 0 && execute(connection, sql, params![cell, epoch.0, number])? == 1 {
        return Ok(());
    }
    follows(batch, lease(connection, *cell)?)?;
    Err(Error::Conflict(format!("batch {sequence} of cell {cell} can't be counted")))
}

fn write_run(connection: &Connection, write: &RunWrite) -> Result<(), Error> {
    let key = write.key;
    if write.deleted {
        return delete_run(connection, key);
    }
    match &write.created {
        Some(created) => create_run(connection, write, created)?,
        None => update_run(connection, write)?,
    }
    if write.becomes_current {
        execute(connection, include_str!("sql/become_current.sql"), [key.0])?;
    }
    for (part, value) in &write.parts {
        write_part(connection, key.0, part.encode(), value.as_deref())?;
    }
    write.history.iter().try_for_each(|fragment| add_history(connection, key, fragment))?;
    match &write.visibility {
        Some(Listed::Row(row)) => visibility::sqlite::put(connection, row)?,
        Some(Listed::Closed { status, closed }) => {
            visibility::sqlite::close(connection, key.0, *status, closed)?;
        }
        None => {}
    }
    Ok(())
}

fn create_run(connection: &Connection, write: &RunWrite, created: &NewRun) -> Result<(), Error> {
    let NewRun { namespace, workflow_id, run_id, slot, ancestors, first_branch } = created;
    let key = write.key.0;
    let created = execute(
        connection,
        include_str!("sql/create_run.sql"),
        params![
            key,
            namespace.0,
            workflow_id,
            run_id_bytes(run_id),
            slot.0,
            first_branch.0,
            write.wake_at.and_then(wake_column),
            write.head
        ],
    );
    taken(created, || format!("there is a run {key} already, or one with the id {run_id}"))?;
    for ancestor in ancestors {
        let sql = include_str!("sql/refer_to_branch.sql");
        execute(connection, sql, [key, ancestor.0])?;
    }
    Ok(())
}

fn update_run(connection: &Connection, write: &RunWrite) -> Result<(), Error> {
    let key = write.key.0;
    // The index of wake-ups is touched only by statements that name the column.
    let exists = match (&write.head, write.wake_at) {
        (Some(head), None) => {
            execute(connection, include_str!("sql/update_head.sql"), params![key, head])? == 1
        }
        (Some(head), Some(wake_at)) => {
            let sql = include_str!("sql/update_head_and_wake.sql");
            execute(connection, sql, params![key, head, wake_column(wake_at)])? == 1
        }
        (None, Some(wake_at)) => {
            let sql = include_str!("sql/update_wake.sql");
            execute(connection, sql, params![key, wake_column(wake_at)])? == 1
        }
        (None, None) => {
            let mut statement = connection.prepare_cached(include_str!("sql/run_exists.sql"))?;
            statement.exists([key])?
        }
    };
    if exists { Ok(()) } else { Err(Error::Conflict(format!("there is no run {key}"))) }
}

pub(super) fn wake_column(wake_at: Time) -> Option<i64> {
    wake_at.get().map(|time| time.0)
}

/// Writes an encoded part of the run or schedule whose key has the number `key`.
pub(super) fn write_part(
    connection: &Connection,
    key: i64,
    (kind, id): (u8, Vec<u8>),
    value: Option<&[u8]>,
) -> Result<(), Error> {
    match value {
        Some(value) => {
            execute(connection, include_str!("sql/put_part.sql"), params![key, kind, id, value])?
        }
        None => execute(connection, include_str!("sql/delete_part.sql"), params![key, kind, id])?,
    };
    Ok(())
}

fn add_history(connection: &Connection, key: RunKey, fragment: &Fragment) -> Result<(), Error> {
    let Fragment { first_event_id, last_event_id, bytes } = fragment;
    let added = execute(
        connection,
        include_str!("sql/add_history.sql"),
        params![key.0, first_event_id, last_event_id, bytes.as_ref()],
    );
    taken(added, || format!("run {} has an event {first_event_id} already", key.0))?;
    Ok(())
}

fn delete_run(connection: &Connection, key: RunKey) -> Result<(), Error> {
    let key = key.0;
    execute(connection, include_str!("sql/delete_current_pointer.sql"), [key])?;
    if execute(connection, include_str!("sql/delete_run.sql"), [key])? == 0 {
        return Ok(());
    }
    execute(connection, include_str!("sql/delete_parts.sql"), [key])?;
    visibility::sqlite::delete(connection, key)?;
    let mut statement = connection.prepare_cached(include_str!("sql/delete_references.sql"))?;
    let ancestors = statement.query_map([key], |row| row.get(0))?;
    let mut branches = ancestors.collect::<rusqlite::Result<Vec<i64>>>()?;
    branches.push(key);
    for branch in branches {
        execute(connection, include_str!("sql/delete_unused_history.sql"), [branch])?;
    }
    Ok(())
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

/// Runs a statement that is compiled once, and says how many rows it changed.
pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<usize> {
    connection.prepare_cached(sql)?.execute(params)
}

/// Says in our words what SQLite calls a violated constraint.
pub(super) fn taken(
    result: rusqlite::Result<usize>,
    problem: impl FnOnce() -> String,
) -> Result<usize, Error> {
    result.map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => Error::Conflict(problem()),
        _ => error.into(),
    })
}
