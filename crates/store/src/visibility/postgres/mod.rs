//! The visibility table in PostgreSQL.
//!
//! Functions return statements, which commit with everything else that a transition changes.

mod decode;
mod encode;
mod where_clause;

pub(crate) use decode::{decode, decode_count};
pub(crate) use encode::{ClosedRows, put};

use self::where_clause::where_clause;
use super::filter::Filter;
use super::order::Position;
use super::query::{GroupBy, Query};
use super::sql::{CLOSE_ORDER, LISTED_COLUMNS};
use crate::postgres::statement::{Statement, int8, limit as limit_of, text};

/// The table and its indexes.
pub(crate) const CREATE_TABLE: &str = include_str!("create_table.sql");

/// The runs of a namespace that a filter matches, after a position or from the start: `limit` and one more, which tells
/// whether there is another page.
pub(crate) fn list(
    namespace: i64,
    filter: &Filter,
    after: Option<&Position>,
    limit: usize,
) -> Statement {
    let mut parameters = vec![int8(namespace)];
    let condition = where_clause(filter, &mut parameters);
    let mut sql = format!(
        "SELECT {columns} FROM perennial.visibility WHERE namespace = $1 AND {condition}",
        columns = LISTED_COLUMNS,
    );
    if let Some(after) = after {
        let first = parameters.len() + 1;
        let (close, start, run_id) = (first, first + 1, first + 2);
        // The first comparison is redundant, but the index can start from it.
        sql += &format!(
            " AND {CLOSE_ORDER} <= ${close} AND ({CLOSE_ORDER} < ${close} OR start_time < ${start} \
             OR (start_time = ${start} AND run_id > ${run_id}))"
        );
        parameters.extend([
            int8(after.close_micros),
            int8(after.start_micros),
            text(after.run_id.as_str()),
        ]);
    }
    parameters.push(limit_of(limit.saturating_add(1)));
    sql += &format!(
        " ORDER BY {CLOSE_ORDER} DESC, start_time DESC, run_id LIMIT ${}",
        parameters.len()
    );
    Statement::new(sql, parameters)
}

/// How many runs of a namespace a query finds, by group.
pub(crate) fn count(namespace: i64, query: &Query) -> Statement {
    let mut parameters = vec![int8(namespace)];
    let condition = where_clause(&query.filter, &mut parameters);
    let from = format!("FROM perennial.visibility WHERE namespace = $1 AND {condition}");
    let sql = match query.group_by {
        None => format!("SELECT count(*) {from}"),
        Some(group_by) => {
            let column = match group_by {
                GroupBy::ExecutionStatus => "status",
                GroupBy::NamespaceDivision => "TemporalNamespaceDivision",
            };
            // As in other databases, the group without a value comes first.
            format!(
                "SELECT count(*), {column} {from} GROUP BY {column} ORDER BY {column} NULLS FIRST"
            )
        }
    };
    Statement::new(sql, parameters)
}
