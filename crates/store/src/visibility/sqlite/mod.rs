//! The visibility table in SQLite.
//!
//! Functions take a connection (or a transaction, which is one), so that visibility commits with
//! everything else a transition changes.

mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod where_clause;

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, Result, params, params_from_iter};

use self::where_clause::where_clause;
use super::page::{Group, GroupKey, Page};

use super::filter::Filter;
use super::order::Position;
use super::query::GroupBy;
use super::row::{Closed, Row, to_micros};
use super::sql::{CLOSE_ORDER, LISTED_COLUMNS};

/// The table and its indexes.
pub(crate) const CREATE_TABLE: &str = include_str!("create_table.sql");

/// Adds the column of labels to the table.
pub(crate) const ADD_LABELS: &str = include_str!("add_labels.sql");

/// Drops the indexes of custom attributes. [`put`] creates an index when the first run has a value of the attribute.
pub(crate) const DROP_ATTRIBUTE_INDEXES: &str = include_str!("drop_attribute_indexes.sql");

/// Writes a run's row, over the one that was there.
pub(crate) fn put(connection: &Connection, row: &Row) -> Result<()> {
    for (column, _) in row.values.iter() {
        if let Some(index) = encode::index_statement(column) {
            // Does nothing if the index exists.
            connection.execute_batch(&index)?;
        }
    }
    let mut statement = connection.prepare_cached(encode::put_statement())?;
    encode::bind(&mut statement, row)?;
    statement.raw_execute()?;
    Ok(())
}

/// Updates a run's row when it closes, and changes nothing else.
///
/// Only two of the many indexes that [`put`] has to check contain these columns.
pub(crate) fn close(
    connection: &Connection,
    run_key: i64,
    status: i32,
    closed: &Closed,
) -> Result<()> {
    let Closed {
        time_nanos,
        execution_duration_nanos,
        history_length,
        history_size_bytes,
        state_transition_count,
    } = closed;
    let mut statement = connection.prepare_cached(
        "UPDATE visibility SET status = ?2, close_time = ?3, execution_duration = ?4, \
         history_length = ?5, history_size_bytes = ?6, state_transition_count = ?7 \
         WHERE run_key = ?1",
    )?;
    statement.execute(params![
        run_key,
        status,
        to_micros(*time_nanos),
        execution_duration_nanos,
        history_length,
        history_size_bytes,
        state_transition_count
    ])?;
    Ok(())
}

/// Deletes a run's row, if there is one.
pub(crate) fn delete(connection: &Connection, run_key: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM visibility WHERE run_key = ?")?.execute([run_key])?;
    Ok(())
}

/// The runs of a namespace that a filter matches, `limit` at most, after a position or from the start.
pub(crate) fn list(
    connection: &Connection,
    namespace: i64,
    filter: &Filter,
    after: Option<&Position>,
    limit: usize,
) -> Result<Page> {
    let (condition, mut parameters) = where_clause(filter);
    parameters.insert(0, SqlValue::Integer(namespace));
    let mut sql = format!(
        "SELECT {columns} FROM visibility WHERE namespace = ? AND {condition}",
        columns = LISTED_COLUMNS,
    );
    if let Some(after) = after {
        // The first comparison is redundant, but the index can start from it.
        sql += &format!(
            " AND {CLOSE_ORDER} <= ? AND ({CLOSE_ORDER} < ? OR start_time < ? \
             OR (start_time = ? AND run_id > ?))"
        );
        parameters.extend([
            SqlValue::Integer(after.close_micros),
            SqlValue::Integer(after.close_micros),
            SqlValue::Integer(after.start_micros),
            SqlValue::Integer(after.start_micros),
            SqlValue::Text(after.run_id.clone()),
        ]);
    }
    // One more than asked for tells whether there is another page.
    sql += &format!(" ORDER BY {CLOSE_ORDER} DESC, start_time DESC, run_id LIMIT ?");
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    parameters.push(SqlValue::Integer(one_more));

    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(parameters), decode::decode)?;
    Ok(Page::of(rows.collect::<Result<Vec<_>>>()?, limit))
}

/// How many runs of a namespace a filter matches.
pub(crate) fn count(connection: &Connection, namespace: i64, filter: &Filter) -> Result<i64> {
    let (condition, mut parameters) = where_clause(filter);
    parameters.insert(0, SqlValue::Integer(namespace));
    let sql = format!("SELECT count(*) FROM visibility WHERE namespace = ? AND {condition}");
    connection.prepare(&sql)?.query_row(params_from_iter(parameters), |row| row.get(0))
}

/// The same, split; groups without runs are left out.
pub(crate) fn count_groups(
    connection: &Connection,
    namespace: i64,
    filter: &Filter,
    group_by: GroupBy,
) -> Result<Vec<Group>> {
    let column = match group_by {
        GroupBy::ExecutionStatus => "status",
        GroupBy::NamespaceDivision => "TemporalNamespaceDivision",
    };
    let (condition, mut parameters) = where_clause(filter);
    parameters.insert(0, SqlValue::Integer(namespace));
    let sql = format!(
        "SELECT {column}, count(*) FROM visibility WHERE namespace = ? AND {condition} \
         GROUP BY {column} ORDER BY {column}"
    );
    let mut statement = connection.prepare(&sql)?;
    let groups = statement.query_map(params_from_iter(parameters), |row| {
        let key = match group_by {
            GroupBy::ExecutionStatus => GroupKey::Status(row.get(0)?),
            GroupBy::NamespaceDivision => GroupKey::Division(row.get(0)?),
        };
        Ok(Group { key, count: row.get(1)? })
    })?;
    groups.collect()
}
