//! Encodes rows as parameters of SQL.

use std::borrow::Cow;
use std::sync::LazyLock;

use rusqlite::types::{ToSql, Value as SqlValue};
use rusqlite::{Result, Statement};

use crate::visibility::column::{AttributeColumn, ValueType};
use crate::visibility::row::{Row, Value, to_micros};
use crate::visibility::sql::{COLUMNS, FIXED_COLUMNS};
use crate::visibility::text_tokens;

/// Inserts or updates a row, given its parameters by [`bind`].
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

/// Makes the index by which runs are found by a custom attribute. Lists and words aren't found by one.
pub(super) fn index_statement(column: AttributeColumn) -> Option<String> {
    let AttributeColumn::Custom { value_type, .. } = column else { return None };
    let is_ordered = matches!(
        value_type,
        ValueType::Keyword | ValueType::Int | ValueType::Double | ValueType::Datetime
    );
    let name = column.field_name();
    is_ordered.then(|| {
        format!(
            "CREATE INDEX IF NOT EXISTS visibility_{name} ON visibility (namespace, {name}) \
             WHERE {name} IS NOT NULL"
        )
    })
}

/// Gives a statement of [`put_statement`] its parameters.
///
/// They are bound one by one and by reference: a run has few of the many attributes there are columns for.
pub(super) fn bind(statement: &mut Statement<'_>, row: &Row) -> Result<()> {
    statement.clear_bindings();
    let execution = &row.execution;
    let closed = execution.closed.as_ref();
    let parent = execution.parent.as_ref();
    let system: [&dyn ToSql; COLUMNS.len()] = [
        &execution.run_key,
        &row.namespace,
        &execution.workflow_id,
        &execution.run_id,
        &execution.workflow_type,
        &execution.task_queue,
        &execution.status,
        &to_micros(execution.start_time_nanos),
        &to_micros(execution.execution_time_nanos),
        &closed.map(|closed| to_micros(closed.time_nanos)),
        &closed.map(|closed| closed.execution_duration_nanos),
        &closed.map(|closed| closed.history_length),
        &closed.map(|closed| closed.history_size_bytes),
        &closed.map(|closed| closed.state_transition_count),
        &parent.map(|parent| &parent.workflow_id),
        &parent.map(|parent| &parent.run_id),
        &execution.root.workflow_id,
        &execution.root.run_id,
        &execution.memo,
        &execution.search_attributes,
    ];
    for (index, value) in (1..).zip(system) {
        statement.raw_bind_parameter(index, value)?;
    }
    for (column, value) in row.values.iter() {
        if let Some(place) = AttributeColumn::all().position(|it| it == column) {
            statement.raw_bind_parameter(COLUMNS.len() + 1 + place, encode_attribute(value))?;
        }
    }
    Ok(())
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
