//! Rows to parameters.

use std::borrow::Cow;
use std::sync::LazyLock;

use rusqlite::types::Value as SqlValue;

use crate::visibility::column::AttributeColumn;
use crate::visibility::row::{Row, Value, to_micros};
use crate::visibility::text_tokens;

/// Columns of a row in the order [`encode`] gives them; those of attributes follow.
const COLUMNS: [&str; 20] = [
    "run_key",
    "namespace",
    "workflow_id",
    "run_id",
    "workflow_type",
    "task_queue",
    "status",
    "start_time",
    "execution_time",
    "close_time",
    "execution_duration",
    "history_length",
    "history_size_bytes",
    "state_transition_count",
    "parent_workflow_id",
    "parent_run_id",
    "root_workflow_id",
    "root_run_id",
    "memo",
    "search_attributes",
];

/// What never changes of a run. Left out of an update, so are the indexes over it.
const FIXED_COLUMNS: [&str; 6] =
    ["run_key", "namespace", "workflow_id", "run_id", "parent_workflow_id", "parent_run_id"];

/// Inserts or updates a row, given all of [`encode`]'s parameters.
pub(super) fn put_statement() -> &'static str {
    static STATEMENT: LazyLock<String> = LazyLock::new(|| {
        let columns: Vec<Cow<'_, str>> = COLUMNS
            .into_iter()
            .map(Into::into)
            .chain(AttributeColumn::all().map(AttributeColumn::field_name))
            .collect();
        let changing: Vec<_> = columns
            .iter()
            .filter(|column| !FIXED_COLUMNS.contains(&column.as_ref()))
            .map(|column| format!("{column} = excluded.{column}"))
            .collect();
        format!(
            "INSERT INTO visibility ({}) VALUES ({}) ON CONFLICT (run_key) DO UPDATE SET {}",
            columns.join(", "),
            vec!["?"; columns.len()].join(", "),
            changing.join(", ")
        )
    });
    &STATEMENT
}

pub(super) fn encode(row: &Row) -> impl Iterator<Item = SqlValue> {
    let execution = &row.execution;
    let closed = execution.closed.as_ref();
    let parent = execution.parent.as_ref();
    let text = |text: &str| SqlValue::Text(text.to_owned());
    let system: [SqlValue; COLUMNS.len()] = [
        execution.run_key.into(),
        row.namespace.into(),
        text(&execution.workflow_id),
        text(&execution.run_id),
        text(&execution.workflow_type),
        text(&execution.task_queue),
        i64::from(execution.status).into(),
        to_micros(execution.start_time_nanos).into(),
        to_micros(execution.execution_time_nanos).into(),
        closed.map(|closed| to_micros(closed.time_nanos)).into(),
        closed.map(|closed| closed.execution_duration_nanos).into(),
        closed.map(|closed| closed.history_length).into(),
        closed.map(|closed| closed.history_size_bytes).into(),
        closed.map(|closed| closed.state_transition_count).into(),
        parent.map(|parent| parent.workflow_id.clone()).into(),
        parent.map(|parent| parent.run_id.clone()).into(),
        text(&execution.root.workflow_id),
        text(&execution.root.run_id),
        execution.memo.clone().into(),
        execution.search_attributes.clone().into(),
    ];
    let attributes = AttributeColumn::all()
        .map(|column| row.values.get(column).map_or(SqlValue::Null, encode_attribute));
    system.into_iter().chain(attributes)
}

fn encode_attribute(value: &Value) -> SqlValue {
    match value {
        Value::Keyword(text) => text.clone().into(),
        Value::KeywordList(list) => serde_json::Value::from(list.as_slice()).to_string().into(),
        Value::Text(text) => text_tokens::phrase(text).unwrap_or_default().into(),
        Value::Int(integer) => (*integer).into(),
        Value::Double(real) => (*real).into(),
        Value::Bool(value) => i64::from(*value).into(),
        Value::Datetime(nanos) => to_micros(*nanos).into(),
    }
}
