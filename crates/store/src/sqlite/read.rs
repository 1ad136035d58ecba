//! Reads from the tables.

use perennial_engine::{
    EntityId, EntityKey, EntityRef, Kind, NamespaceKey, PartId, Slot, SlotRange, Time,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use crate::check::run_id_bytes;
use crate::numbers::{log_number, record_kind_number};
use crate::visibility::{self, Count, Page, Position, Query};
use crate::{
    Error, Fragment, HistoryRange, Log, LogLine, RecordKind, StoredEntity, StoredMessage, TaskRow,
    Wake,
};

/// The entity that is wanted, if it is there.
///
/// The caller's transaction keeps a commit from coming between the statements: the parts would be of another state
/// than the head.
pub(super) fn load(
    connection: &Connection,
    wanted: &EntityRef,
) -> Result<Option<StoredEntity>, Error> {
    let EntityId { namespace, kind, id } = &wanted.id;
    if *kind != Kind::Run {
        // Only runs have run ids.
        if wanted.run_id.is_some() {
            return Ok(None);
        }
        let mut statement =
            connection.prepare_cached(include_str!("sql/load_latest_entity.sql"))?;
        let found = statement
            .query_row(params![namespace.0, kind.number(), id], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((key, head)) = found else { return Ok(None) };
        let (key, is_current) = (EntityKey(key), true);
        let (parts, first_fragment) = (load_parts(connection, key)?, None);
        let kind = *kind;
        return Ok(Some(StoredEntity { kind, key, head, parts, first_fragment, is_current }));
    }
    let found = match &wanted.run_id {
        None => connection
            .prepare_cached(include_str!("sql/load_current_run.sql"))?
            .query_row(params![namespace.0, id], run_row),
        Some(run_id) => {
            let Some(run_id) = run_id_bytes(run_id) else { return Ok(None) };
            connection
                .prepare_cached(include_str!("sql/load_run_by_id.sql"))?
                .query_row(params![namespace.0, id, run_id], run_row)
        }
    };
    found.optional()?.map(|row| with_parts(connection, row)).transpose()
}

pub(super) fn load_by_key(
    connection: &Connection,
    key: EntityKey,
) -> Result<Option<StoredEntity>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/load_entity_by_key.sql"))?;
    let found = statement
        .query_row([key.0], |row| Ok((row.get::<_, u8>(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    if let Some((kind, head, is_current)) = found {
        let kind = kind_of_number(kind, key)?;
        let (parts, first_fragment) = (load_parts(connection, key)?, None);
        return Ok(Some(StoredEntity { kind, key, head, parts, first_fragment, is_current }));
    }
    let mut statement = connection.prepare_cached(include_str!("sql/load_run_by_key.sql"))?;
    let found = statement.query_row([key.0], run_row).optional()?;
    found.map(|row| with_parts(connection, row)).transpose()
}

fn kind_of_number(number: u8, key: EntityKey) -> Result<Kind, Error> {
    Kind::from_number(number)
        .ok_or_else(|| Error::Corrupt(format!("entity {} has kind {number}", key.0)))
}

/// A run without its parts.
struct RunRow {
    key: EntityKey,
    head: Vec<u8>,
    first_branch: i64,
    first_fragment: Option<Fragment>,
    is_current: bool,
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let first_fragment = match row.get::<_, Option<i64>>(3)? {
        Some(first_event_id) => {
            let bytes = row.get::<_, Vec<u8>>(5)?.into();
            Some(Fragment { first_event_id, last_event_id: row.get(4)?, bytes })
        }
        None => None,
    };
    Ok(RunRow {
        key: EntityKey(row.get(0)?),
        head: row.get(1)?,
        first_branch: row.get(2)?,
        first_fragment,
        is_current: row.get(6)?,
    })
}

fn with_parts(connection: &Connection, row: RunRow) -> Result<StoredEntity, Error> {
    let RunRow { key, head, first_branch, first_fragment, is_current } = row;
    if first_fragment.is_none() {
        let problem =
            format!("run {} begins in branch {first_branch}, which has no first event", key.0);
        return Err(Error::Corrupt(problem));
    }
    let parts = load_parts(connection, key)?;
    Ok(StoredEntity { kind: Kind::Run, key, head, parts, first_fragment, is_current })
}

fn load_parts(connection: &Connection, key: EntityKey) -> Result<Vec<(PartId, Vec<u8>)>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/load_parts.sql"))?;
    let parts = statement.query_map([key.0], |row| {
        Ok((PartId { kind: row.get(0)?, id: row.get(1)? }, row.get(2)?))
    })?;
    Ok(parts.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn log(
    connection: &Connection,
    key: EntityKey,
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
        .query_map(params![key.0, log_number(log), first, last, sql_limit(limit)], |row| {
            Ok(LogLine { log, position: row.get(0)?, value: row.get(1)? })
        })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
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
    slots: SlotRange,
    after: (Time, EntityKey),
    up_to: Time,
    limit: usize,
) -> Result<Vec<Wake>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/page_of_wakes.sql"))?;
    let (first, last) = (slots.first().0, slots.last().0);
    let mut rows =
        statement.query(params![after.0.0, after.1.0, up_to.0, first, last, sql_limit(limit)])?;
    let mut wakes = Vec::new();
    while let Some(row) = rows.next()? {
        let key = EntityKey(row.get(1)?);
        let kind = kind_of_number(row.get(2)?, key)?;
        let id = EntityId { namespace: NamespaceKey(row.get(3)?), kind, id: row.get(4)? };
        let run_id = row.get::<_, Option<[u8; 16]>>(5)?;
        let run_id = run_id.map(|bytes| Uuid::from_bytes(bytes).to_string());
        wakes.push(Wake { at: Time(row.get(0)?), key, entity: EntityRef { id, run_id } });
    }
    Ok(wakes)
}

pub(super) fn tasks(
    connection: &Connection,
    slots: SlotRange,
    after: i64,
    limit: usize,
) -> Result<Vec<TaskRow>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/page_of_tasks.sql"))?;
    let page = params![after, slots.first().0, slots.last().0, sql_limit(limit)];
    let rows = statement.query_map(page, |row| {
        Ok(TaskRow { key: row.get(0)?, slot: Slot(row.get(1)?), value: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn messages(
    connection: &Connection,
    slots: SlotRange,
    after: i64,
    limit: usize,
) -> Result<Vec<StoredMessage>, Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/page_of_messages.sql"))?;
    let page = params![after, slots.first().0, slots.last().0, sql_limit(limit)];
    let rows = statement.query_map(page, |row| {
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
    let mut rows = statement.query(params![kind, prefix, after, sql_limit(limit)])?;
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

/// A limit as a parameter of SQL.
pub(super) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
