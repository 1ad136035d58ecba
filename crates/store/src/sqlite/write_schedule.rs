//! What a batch does to the tables of schedules.

use perennial_engine::ScheduleKey;
use rusqlite::{Connection, params};

use super::write::{execute, taken, wake_column, write_part};
use crate::{Error, Log, LogLine, NewSchedule, ScheduleWrite, visibility};

pub(super) fn write_schedule(connection: &Connection, write: &ScheduleWrite) -> Result<(), Error> {
    let key = write.key;
    if write.deleted {
        return delete_schedule(connection, key);
    }
    match &write.created {
        Some(created) => create_schedule(connection, write, created)?,
        None => update_schedule(connection, write)?,
    }
    for (part, value) in &write.parts {
        write_part(connection, key.0, part.encode(), value.as_deref())?;
    }
    for LogLine { log, position, value } in &write.log {
        let sql = include_str!("sql/put_log_line.sql");
        execute(connection, sql, params![key.0, log_number(*log), position, value])?;
    }
    if let Some(row) = &write.visibility {
        visibility::sqlite::put(connection, row)?;
    }
    Ok(())
}

/// As it is stored; never changed, only added to.
pub(super) fn log_number(log: Log) -> u8 {
    match log {
        Log::Audit => 1,
        Log::Ledger => 2,
        Log::ManualLedger => 3,
    }
}

fn create_schedule(
    connection: &Connection,
    write: &ScheduleWrite,
    created: &NewSchedule,
) -> Result<(), Error> {
    let NewSchedule { namespace, schedule_id, slot } = created;
    let key = write.key.0;
    let wake_at = write.wake_at.and_then(wake_column);
    let created = execute(
        connection,
        include_str!("sql/create_schedule.sql"),
        params![key, namespace.0, schedule_id, slot.0, wake_at, write.head],
    );
    taken(created, || format!("there is a schedule {key} already"))?;
    Ok(())
}

fn update_schedule(connection: &Connection, write: &ScheduleWrite) -> Result<(), Error> {
    let key = write.key.0;
    // The index of wake-ups is touched only by statements that name the column.
    let exists = match (&write.head, write.wake_at) {
        (Some(head), None) => {
            let sql = include_str!("sql/update_schedule_head.sql");
            execute(connection, sql, params![key, head])? == 1
        }
        (Some(head), Some(wake_at)) => {
            let sql = include_str!("sql/update_schedule_head_and_wake.sql");
            execute(connection, sql, params![key, head, wake_column(wake_at)])? == 1
        }
        (None, Some(wake_at)) => {
            let sql = include_str!("sql/update_schedule_wake.sql");
            execute(connection, sql, params![key, wake_column(wake_at)])? == 1
        }
        (None, None) => {
            let sql = include_str!("sql/schedule_exists.sql");
            connection.prepare_cached(sql)?.exists([key])?
        }
    };
    if exists { Ok(()) } else { Err(Error::Conflict(format!("there is no schedule {key}"))) }
}

fn delete_schedule(connection: &Connection, key: ScheduleKey) -> Result<(), Error> {
    let key = key.0;
    if execute(connection, include_str!("sql/delete_schedule.sql"), [key])? == 0 {
        return Ok(());
    }
    execute(connection, include_str!("sql/delete_parts.sql"), [key])?;
    execute(connection, include_str!("sql/delete_log.sql"), [key])?;
    visibility::sqlite::delete(connection, key)?;
    Ok(())
}
