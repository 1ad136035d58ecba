//! Writes the rows of one entity.
//!
//! Runs have a table of their own, because they have a run id and a history besides. All other kinds share one.

use perennial_engine::{EntityKey, Kind, PartId, Time};
use rusqlite::{Connection, params};

use super::write::{execute, explain_constraint};
use crate::check::run_id_bytes;
use crate::numbers::log_number;
use crate::{EntityWrite, Error, Fragment, Listed, LogLine, NewEntity, visibility};

pub(super) fn write_entity(connection: &Connection, write: &EntityWrite) -> Result<(), Error> {
    let key = write.key;
    if write.deleted {
        return delete(connection, write.kind, key);
    }
    match &write.created {
        Some(created) => create(connection, write, created)?,
        None => update(connection, write)?,
    }
    if write.becomes_current {
        execute(connection, include_str!("sql/become_current.sql"), [key.0])?;
    }
    for (part, value) in &write.parts {
        write_part(connection, key, part, value.as_deref())?;
    }
    for fragment in &write.history {
        add_history(connection, key, fragment)?;
    }
    for LogLine { log, position, value } in &write.log {
        let sql = include_str!("sql/put_log_line.sql");
        execute(connection, sql, params![key.0, log_number(*log), position, value])?;
    }
    match &write.visibility {
        Some(Listed::Row(row)) => visibility::sqlite::put(connection, row)?,
        Some(Listed::Closed { status, closed }) => {
            visibility::sqlite::close(connection, key.0, *status, closed)?;
        }
        None => {}
    }
    Ok(())
}

fn create(connection: &Connection, write: &EntityWrite, created: &NewEntity) -> Result<(), Error> {
    let NewEntity { id, run } = created;
    let (key, namespace, slot) = (write.key.0, id.namespace.0, id.slot().0);
    let (wake_at, head) = (write.wake_at.and_then(wake_column), &write.head);
    let Some(run) = run else {
        let kind = id.kind;
        let created = execute(
            connection,
            include_str!("sql/create_entity.sql"),
            params![key, namespace, id.id, slot, wake_at, head, kind.number()],
        );
        explain_constraint(created, || format!("there is a {} {key} already", kind.name()))?;
        return Ok(());
    };
    let created = execute(
        connection,
        include_str!("sql/create_run.sql"),
        params![
            key,
            namespace,
            id.id,
            run_id_bytes(&run.run_id),
            slot,
            run.first_branch.0,
            wake_at,
            head
        ],
    );
    let run_id = &run.run_id;
    explain_constraint(created, || {
        format!("there is a run {key} already, or one with the id {run_id}")
    })?;
    for ancestor in &run.ancestors {
        let sql = include_str!("sql/refer_to_branch.sql");
        execute(connection, sql, [key, ancestor.0])?;
    }
    Ok(())
}

fn update(connection: &Connection, write: &EntityWrite) -> Result<(), Error> {
    let (kind, key) = (write.kind, write.key.0);
    // The index of wake-ups is touched only by statements that name the column.
    let exists = match (kind == Kind::Run, &write.head, write.wake_at.map(wake_column)) {
        (true, Some(head), None) => {
            execute(connection, include_str!("sql/update_run_head.sql"), params![key, head])? == 1
        }
        (true, Some(head), Some(wake_at)) => {
            let sql = include_str!("sql/update_run_head_and_wake.sql");
            execute(connection, sql, params![key, head, wake_at])? == 1
        }
        (true, None, Some(wake_at)) => {
            let sql = include_str!("sql/update_run_wake.sql");
            execute(connection, sql, params![key, wake_at])? == 1
        }
        (true, None, None) => {
            connection.prepare_cached(include_str!("sql/run_exists.sql"))?.exists([key])?
        }
        (false, Some(head), None) => {
            let sql = include_str!("sql/update_entity_head.sql");
            execute(connection, sql, params![key, kind.number(), head])? == 1
        }
        (false, Some(head), Some(wake_at)) => {
            let sql = include_str!("sql/update_entity_head_and_wake.sql");
            execute(connection, sql, params![key, kind.number(), head, wake_at])? == 1
        }
        (false, None, Some(wake_at)) => {
            let sql = include_str!("sql/update_entity_wake.sql");
            execute(connection, sql, params![key, kind.number(), wake_at])? == 1
        }
        (false, None, None) => {
            let sql = include_str!("sql/entity_exists.sql");
            connection.prepare_cached(sql)?.exists(params![key, kind.number()])?
        }
    };
    if exists {
        return Ok(());
    }
    Err(Error::Conflict(format!("there is no {} {key}", kind.name())))
}

fn wake_column(wake_at: Time) -> Option<i64> {
    wake_at.get().map(|time| time.0)
}

fn write_part(
    connection: &Connection,
    key: EntityKey,
    PartId { kind, id }: &PartId,
    value: Option<&[u8]>,
) -> Result<(), Error> {
    match value {
        Some(value) => {
            execute(connection, include_str!("sql/put_part.sql"), params![key.0, kind, id, value])?
        }
        None => execute(connection, include_str!("sql/delete_part.sql"), params![key.0, kind, id])?,
    };
    Ok(())
}

fn add_history(connection: &Connection, key: EntityKey, fragment: &Fragment) -> Result<(), Error> {
    let Fragment { first_event_id, last_event_id, bytes } = fragment;
    let added = execute(
        connection,
        include_str!("sql/add_history.sql"),
        params![key.0, first_event_id, last_event_id, bytes.as_ref()],
    );
    explain_constraint(added, || format!("run {} has an event {first_event_id} already", key.0))?;
    Ok(())
}

fn delete(connection: &Connection, kind: Kind, key: EntityKey) -> Result<(), Error> {
    let deleted = if kind == Kind::Run {
        execute(connection, include_str!("sql/delete_current_pointer.sql"), [key.0])?;
        execute(connection, include_str!("sql/delete_run.sql"), [key.0])?
    } else {
        let sql = include_str!("sql/delete_entity.sql");
        execute(connection, sql, params![key.0, kind.number()])?
    };
    if deleted == 0 {
        return Ok(());
    }
    execute(connection, include_str!("sql/delete_parts.sql"), [key.0])?;
    visibility::sqlite::delete(connection, key.0)?;
    if kind == Kind::Run {
        return delete_unused_branches(connection, key);
    }
    execute(connection, include_str!("sql/delete_log.sql"), [key.0])?;
    Ok(())
}

/// Deletes the branch of a deleted run, and those it went on from, unless another run needs them.
fn delete_unused_branches(connection: &Connection, key: EntityKey) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(include_str!("sql/delete_references.sql"))?;
    let ancestors = statement.query_map([key.0], |row| row.get(0))?;
    let mut branches = ancestors.collect::<rusqlite::Result<Vec<i64>>>()?;
    branches.push(key.0);
    for branch in branches {
        execute(connection, include_str!("sql/delete_unused_history.sql"), [branch])?;
    }
    Ok(())
}
