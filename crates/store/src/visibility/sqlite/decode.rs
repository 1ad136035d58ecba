//! Decodes rows of lists.

use rusqlite::{Result, Row};

use crate::visibility::row::{Closed, Execution, ExecutionKey};

pub(super) fn decode(row: &Row<'_>) -> Result<Execution> {
    let nanos = |micros: i64| micros.saturating_mul(1_000);
    let closed = match row.get::<_, Option<i64>>(8)? {
        Some(close_time) => Some(Closed {
            time_nanos: nanos(close_time),
            execution_duration_nanos: row.get(9)?,
            history_length: row.get(10)?,
            history_size_bytes: row.get(11)?,
            state_transition_count: row.get(12)?,
        }),
        None => None,
    };
    let parent = match row.get(13)? {
        Some(workflow_id) => Some(ExecutionKey { workflow_id, run_id: row.get(14)? }),
        None => None,
    };
    Ok(Execution {
        run_key: row.get(0)?,
        workflow_id: row.get(1)?,
        run_id: row.get(2)?,
        workflow_type: row.get(3)?,
        task_queue: row.get(4)?,
        status: row.get(5)?,
        start_time_nanos: nanos(row.get(6)?),
        execution_time_nanos: nanos(row.get(7)?),
        closed,
        parent,
        root: ExecutionKey { workflow_id: row.get(15)?, run_id: row.get(16)? },
        memo: row.get(17)?,
        search_attributes: row.get(18)?,
    })
}
