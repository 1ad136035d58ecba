//! What is read from the tables.

use perennial_engine::{NamespaceKey, PartKey, RunKey, Slot, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::write::record_kind_number;
use crate::check::run_id_bytes;
use crate::visibility::{self, Count, Page, Position, Query};
use crate::{
    Epoch, Error, Fragment, HistoryRange, RecordKind, Sleeper, StoredMessage, StoredRun, TaskRow,
    Wake,
};

/// The cell's epoch and last sequence, if it was ever leased.
pub(super) fn lease(connection: &Connection, cell: u32) -> Result<Option<(Epoch, u64)>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/read_lease.sql"))?;
    let lease = statement.query_row([cell], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)));
    match lease.optional()? {
        None => Ok(None),
        Some((epoch, sequence)) => {
            let sequence = u64::try_from(sequence).map_err(|_| {
                Error::Corrupt(format!("the last batch of cell {cell} has number {sequence}"))
            })?;
            Ok(Some((Epoch(epoch), sequence)))
        }
    }
}

/// The caller's transaction keeps a commit from coming between the statements: the parts would be of another
/// state than the head.
pub(super) fn load_run(
    connection: &Connection,
    namespace: NamespaceKey,
    workflow_id: &str,
    run_id: Option<&str>,
) -> Result<Option<StoredRun>, Error> {
    let found = match run_id {
        None => connection
            .prepare_cached(include_str!("sql/load_current_run.sql"))?
            .query_row(params![namespace.0, workflow_id], run_without_parts),
        Some(run_id) => {
            let Some(run_id) = run_id_bytes(run_id) else { return Ok(None) };
            connection
                .prepare_cached(include_str!("sql/load_run_by_id.sql"))?
                .query_row(params![namespace.0, workflow_id, run_id], run_without_parts)
        }
    };
    let Some(found) = found.optional()? else { return Ok(None) };
    let Found { key, head, first_branch, first_fragment, is_current } = found;
    let first_fragment = first_fragment.ok_or_else(|| {
        let run = key.0;
        Error::Corrupt(format!(
            "run {run} begins in branch {first_branch}, which has no first event"
        ))
    })?;
    let parts = load_parts(connection, key)?;
    Ok(Some(StoredRun { key, head, parts, first_fragment, is_current }))
}

struct Found {
    key: RunKey,
    head: Vec<u8>,
    first_branch: i64,
    first_fragment: Option<Fragment>,
    is_current: bool,
}

fn run_without_parts(row: &Row<'_>) -> rusqlite::Result<Found> {
    let first_fragment = match row.get::<_, Option<i64>>(3)? {
        Some(first_event_id) => {
            let bytes = row.get::<_, Vec<u8>>(5)?.into();
            Some(Fragment { first_event_id, last_event_id: row.get(4)?, bytes })
        }
        None => None,
    };
    Ok(Found {
        key: RunKey(row.get(0)?),
        head: row.get(1)?,
        first_branch: row.get(2)?,
        first_fragment,
        is_current: row.get(6)?,
    })
}

fn load_parts(connection: &Connection, key: RunKey) -> Result<Vec<(PartKey, Vec<u8>)>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/load_parts.sql"))?;
    let mut rows = statement.query([key.0])?;
    let mut parts = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, id): (u8, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let part = PartKey::decode(kind, &id).ok_or_else(|| {
            Error::Corrupt(format!("run {} has a part of kind {kind} with id {id:?}", key.0))
        })?;
        parts.push((part, row.get(2)?));
    }
    Ok(parts)
}

pub(super) fn history(
    connection: &Connection,
    range: HistoryRange,
    max_bytes: usize,
    reverse: bool,
) -> Result<Vec<Fragment>, Error> {
    let HistoryRange { branch, first_event_id, last_event_id } = range;
    if first_event_id > last_event_id {
        return Ok(Vec::new());
    }
    let sql = match reverse {
        false => include_str!("sql/read_history.sql"),
        true => include_str!("sql/read_history_backwards.sql"),
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([branch.0, first_event_id, last_event_id])?;
    let mut fragments = Vec::new();
    let mut bytes = 0_usize;
    while let Some(row) = rows.next()? {
        let length = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?.len();
        bytes = bytes.saturating_add(length);
        if bytes > max_bytes && !fragments.is_empty() {
            break;
        }
        fragments.push(Fragment {
            first_event_id: row.get(0)?,
            last_event_id: row.get(1)?,
            bytes: row.get::<_, Vec<u8>>(2)?.into(),
        });
    }
    Ok(fragments)
}

pub(super) fn wakes(
    connection: &Connection,
    after: (Time, i64),
    up_to: Time,
    limit: usize,
) -> Result<Vec<Wake>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/page_of_wakes.sql"))?;
    let rows = statement.query_map([after.0.0, after.1, up_to.0, rows_at_most(limit)], |row| {
        Ok(Wake {
            at: Time(row.get(0)?),
            key: row.get(1)?,
            slot: Slot(row.get(2)?),
            namespace: NamespaceKey(row.get(3)?),
            sleeper: sleeper(row)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn sleeper(row: &Row<'_>) -> rusqlite::Result<Sleeper> {
    // Only runs have a run id.
    Ok(match row.get::<_, Option<[u8; 16]>>(5)? {
        Some(run_id) => {
            let run_id = Uuid::from_bytes(run_id).to_string();
            Sleeper::Run { workflow_id: row.get(4)?, run_id }
        }
        None => Sleeper::Schedule { schedule_id: row.get(4)? },
    })
}

pub(super) fn tasks(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<TaskRow>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/page_of_tasks.sql"))?;
    let rows = statement.query_map([after, rows_at_most(limit)], |row| {
        Ok(TaskRow { key: row.get(0)?, slot: Slot(row.get(1)?), value: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn messages(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<StoredMessage>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/page_of_messages.sql"))?;
    let rows = statement.query_map([after, rows_at_most(limit)], |row| {
        Ok(StoredMessage { key: row.get(0)?, slot: Slot(row.get(1)?), value: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn records(
    connection: &Connection,
    kind: RecordKind,
    prefix: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/page_of_records.sql"))?;
    let kind = record_kind_number(kind);
    let mut rows = statement.query(params![kind, prefix, after, rows_at_most(limit)])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        if !key.starts_with(prefix) {
            // Keys with the prefix lie together.
            break;
        }
        records.push((key, row.get(1)?));
    }
    Ok(records)
}

pub(super) fn list(
    connection: &Connection,
    namespace: NamespaceKey,
    query: &Query,
    page_size: usize,
    after: Option<&Position>,
) -> Result<Page, Error> {
    Ok(visibility::sqlite::list(connection, namespace.0, &query.filter, after, page_size)?)
}

pub(super) fn count(
    connection: &Connection,
    namespace: NamespaceKey,
    query: &Query,
) -> Result<Count, Error> {
    let Query { filter, group_by } = query;
    let Some(group_by) = group_by else {
        let total = visibility::sqlite::count(connection, namespace.0, filter)?;
        return Ok(Count { total, groups: Vec::new() });
    };
    let groups = visibility::sqlite::count_groups(connection, namespace.0, filter, *group_by)?;
    Ok(Count { total: groups.iter().map(|group| group.count).sum(), groups })
}

/// A limit as SQLite takes it.
pub(super) fn rows_at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
