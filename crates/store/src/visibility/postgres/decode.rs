//! Decodes rows of lists and counts.

use tokio_postgres::Row;

use crate::Error;
use crate::visibility::page::{Count, Group, GroupKey};
use crate::visibility::query::{GroupBy, Query};
use crate::visibility::row::{Closed, Execution, ExecutionKey};

pub(crate) fn decode(row: &Row) -> Result<Execution, Error> {
    let nanos = |micros: i64| micros.saturating_mul(1_000);
    let closed = match row.try_get::<_, Option<i64>>(8)? {
        Some(close_time) => Some(Closed {
            time_nanos: nanos(close_time),
            execution_duration_nanos: row.try_get(9)?,
            history_length: row.try_get(10)?,
            history_size_bytes: row.try_get(11)?,
            state_transition_count: row.try_get(12)?,
        }),
        None => None,
    };
    let parent = match row.try_get(13)? {
        Some(workflow_id) => Some(ExecutionKey { workflow_id, run_id: row.try_get(14)? }),
        None => None,
    };
    Ok(Execution {
        run_key: row.try_get(0)?,
        workflow_id: row.try_get(1)?,
        run_id: row.try_get(2)?,
        workflow_type: row.try_get(3)?,
        task_queue: row.try_get(4)?,
        status: row.try_get(5)?,
        start_time_nanos: nanos(row.try_get(6)?),
        execution_time_nanos: nanos(row.try_get(7)?),
        closed,
        parent,
        root: ExecutionKey { workflow_id: row.try_get(15)?, run_id: row.try_get(16)? },
        memo: row.try_get(17)?,
        search_attributes: row.try_get(18)?,
    })
}

/// The rows of a count: one, or one for each group.
pub(crate) fn decode_count(rows: &[Row], query: &Query) -> Result<Count, Error> {
    let Some(group_by) = query.group_by else {
        let total = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        return Ok(Count { total, groups: Vec::new() });
    };
    let group = |row: &Row| -> Result<Group, Error> {
        let key = match group_by {
            GroupBy::ExecutionStatus => GroupKey::Status(row.try_get(1)?),
            GroupBy::NamespaceDivision => GroupKey::Division(row.try_get(1)?),
        };
        Ok(Group { key, count: row.try_get(0)? })
    };
    let groups = rows.iter().map(group).collect::<Result<Vec<_>, _>>()?;
    Ok(Count { total: groups.iter().map(|group| group.count).sum(), groups })
}
