//! What is read from the tables of schedules.

use perennial_engine::{NamespaceKey, ScheduleKey, SchedulePart};
use rusqlite::{Connection, OptionalExtension, params};

use super::read::rows_at_most;
use super::write_schedule::log_number;
use crate::{Error, Log, LogLine, StoredSchedule};

/// In a transaction of the caller's, as the next one: head and parts are of one state.
pub(super) fn load_latest(
    connection: &Connection,
    namespace: NamespaceKey,
    schedule_id: &str,
) -> Result<Option<StoredSchedule>, Error> {
    let found = connection
        .prepare_cached(include_str!("sql/load_latest_schedule.sql"))?
        .query_row(params![namespace.0, schedule_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((key, head)) = found else { return Ok(None) };
    with_parts(connection, ScheduleKey(key), head).map(Some)
}

pub(super) fn load_by_keys(
    connection: &Connection,
    keys: &[ScheduleKey],
) -> Result<Vec<StoredSchedule>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/load_schedule_by_key.sql"))?;
    let mut schedules = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(head) = statement.query_row([key.0], |row| row.get(0)).optional()? {
            schedules.push(with_parts(connection, *key, head)?);
        }
    }
    Ok(schedules)
}

fn with_parts(
    connection: &Connection,
    key: ScheduleKey,
    head: Vec<u8>,
) -> Result<StoredSchedule, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/load_parts.sql"))?;
    let mut rows = statement.query([key.0])?;
    let mut parts = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, id): (u8, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let part = SchedulePart::decode(kind, &id).ok_or_else(|| {
            Error::Corrupt(format!("schedule {} has a part of kind {kind} with id {id:?}", key.0))
        })?;
        parts.push((part, row.get(2)?));
    }
    Ok(StoredSchedule { key, head, parts })
}

pub(super) fn log(
    connection: &Connection,
    key: ScheduleKey,
    log: Log,
    positions: (i64, i64),
    limit: usize,
    reverse: bool,
) -> Result<Vec<LogLine>, Error> {
    let sql = match reverse {
        false => include_str!("sql/read_log.sql"),
        true => include_str!("sql/read_log_backwards.sql"),
    };
    let mut statement = connection.prepare_cached(sql)?;
    let (first, last) = positions;
    let rows = statement
        .query_map(params![key.0, log_number(log), first, last, rows_at_most(limit)], |row| {
            Ok(LogLine { log, position: row.get(0)?, value: row.get(1)? })
        })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
