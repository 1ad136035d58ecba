//! Encodes rows as parameters of SQL.

use std::collections::BTreeMap;

use tokio_postgres::types::{ToSql, Type};

use crate::postgres::statement::{Parameter, Statement, byteas, int8s, texts};
use crate::visibility::column::{AttributeColumn, ValueType};
use crate::visibility::row::{Closed, Row, Value, to_micros};
use crate::visibility::sql::{COLUMNS, FIXED_COLUMNS};
use crate::visibility::text_tokens;

/// Writes rows over those that were there. Rows with values of the same attributes become one statement.
pub(crate) fn put(rows: &[Row]) -> impl Iterator<Item = Statement> {
    let mut groups: BTreeMap<Vec<AttributeColumn>, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(row.values.iter().map(|(column, _)| column).collect()).or_default().push(row);
    }
    groups.into_iter().map(|(attributes, rows)| put_group(&attributes, &rows))
}

fn put_group(attributes: &[AttributeColumn], rows: &[&Row]) -> Statement {
    let attribute_names = attributes.iter().map(|column| column.field_name().into_owned());
    let names: Vec<String> =
        COLUMNS.into_iter().map(str::to_owned).chain(attribute_names).collect();
    // An array of arrays would have to be rectangular, so lists come as texts.
    let selected =
        |(name, index): (&String, usize)| match attributes.get(index.wrapping_sub(COLUMNS.len())) {
            Some(column) if column.value_type() == ValueType::KeywordList => {
                format!("new.{name}::text[]")
            }
            Some(_) | None => format!("new.{name}"),
        };
    let selected: Vec<_> = names.iter().zip(0..).map(selected).collect();
    let places: Vec<_> = (1..=names.len()).map(|number| format!("${number}")).collect();
    let changing = COLUMNS.into_iter().filter(|column| !FIXED_COLUMNS.contains(column));
    let changing = changing.map(str::to_owned);
    let changing = changing.chain(AttributeColumn::all().map(|it| it.field_name().into_owned()));
    let changing: Vec<_> = changing.map(|name| format!("{name} = excluded.{name}")).collect();
    let columns = names.join(", ");
    let sql = format!(
        "INSERT INTO perennial.visibility ({columns}) SELECT {} FROM unnest({}) AS new ({columns}) \
         ON CONFLICT (run_key) DO UPDATE SET {}",
        selected.join(", "),
        places.join(", "),
        changing.join(", ")
    );
    let mut parameters = system_columns(rows);
    parameters.extend(attributes.iter().map(|column| attribute(rows, *column)));
    Statement::new(sql, parameters)
}

fn system_columns(rows: &[&Row]) -> Vec<Parameter> {
    let executions = || rows.iter().map(|row| &row.execution);
    let closed = |value: fn(&Closed) -> i64| -> Parameter {
        let values = executions().map(|execution| execution.closed.as_ref().map(value));
        optional(values.collect::<Vec<Option<i64>>>(), Type::INT8_ARRAY)
    };
    let parents = || executions().map(|execution| execution.parent.as_ref());
    let parent_ids = parents().map(|parent| parent.map(|it| it.workflow_id.clone()));
    let parent_run_ids = parents().map(|parent| parent.map(|it| it.run_id.clone()));
    let statuses: Vec<i32> = executions().map(|execution| execution.status).collect();
    vec![
        int8s(executions().map(|it| it.run_key).collect()),
        int8s(rows.iter().map(|row| row.namespace).collect()),
        texts(executions().map(|it| it.workflow_id.clone()).collect()),
        texts(executions().map(|it| it.run_id.clone()).collect()),
        texts(executions().map(|it| it.workflow_type.clone()).collect()),
        texts(executions().map(|it| it.task_queue.clone()).collect()),
        optional(statuses, Type::INT4_ARRAY),
        int8s(executions().map(|it| to_micros(it.start_time_nanos)).collect()),
        int8s(executions().map(|it| to_micros(it.execution_time_nanos)).collect()),
        closed(|closed| to_micros(closed.time_nanos)),
        closed(|closed| closed.execution_duration_nanos),
        closed(|closed| closed.history_length),
        closed(|closed| closed.history_size_bytes),
        closed(|closed| closed.state_transition_count),
        optional(parent_ids.collect::<Vec<_>>(), Type::TEXT_ARRAY),
        optional(parent_run_ids.collect::<Vec<_>>(), Type::TEXT_ARRAY),
        texts(executions().map(|it| it.root.workflow_id.clone()).collect()),
        texts(executions().map(|it| it.root.run_id.clone()).collect()),
        byteas(executions().map(|it| it.memo.clone()).collect()),
        byteas(executions().map(|it| it.search_attributes.clone()).collect()),
    ]
}

/// The values of one attribute. All rows have one.
fn attribute(rows: &[&Row], column: AttributeColumn) -> Parameter {
    let values = rows.iter().map(|row| row.values.get(column));
    match column.value_type() {
        ValueType::Keyword | ValueType::KeywordList | ValueType::Text => {
            let texts: Vec<_> = values.map(|value| value.and_then(as_text)).collect();
            optional(texts, Type::TEXT_ARRAY)
        }
        ValueType::Int | ValueType::Bool | ValueType::Datetime => {
            let integers: Vec<_> = values.map(|value| value.and_then(as_integer)).collect();
            optional(integers, Type::INT8_ARRAY)
        }
        ValueType::Double => {
            let real = |value: Option<&Value>| match value {
                Some(Value::Double(real)) => Some(*real),
                Some(_) | None => None,
            };
            optional(values.map(real).collect::<Vec<_>>(), Type::FLOAT8_ARRAY)
        }
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::Keyword(text) => Some(text.clone()),
        Value::KeywordList(list) => Some(array_literal(list)),
        Value::Text(text) => Some(text_tokens::phrase(text).unwrap_or_default()),
        Value::Int(_) | Value::Double(_) | Value::Bool(_) | Value::Datetime(_) => None,
    }
}

fn as_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(integer) => Some(*integer),
        Value::Bool(value) => Some(i64::from(*value)),
        Value::Datetime(nanos) => Some(to_micros(*nanos)),
        Value::Keyword(_) | Value::KeywordList(_) | Value::Text(_) | Value::Double(_) => None,
    }
}

/// An array as PostgreSQL reads it from text.
fn array_literal(list: &[String]) -> String {
    let quoted: Vec<_> = list
        .iter()
        .map(|item| format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\"")))
        .collect();
    format!("{{{}}}", quoted.join(","))
}

fn optional<T: ToSql + Sync + Send + 'static>(values: Vec<T>, ty: Type) -> Parameter {
    (Box::new(values), ty)
}

/// Rows of runs that have closed.
#[derive(Debug, Default)]
pub(crate) struct ClosedRows {
    keys: Vec<i64>,
    statuses: Vec<i32>,
    close_times: Vec<i64>,
    durations: Vec<i64>,
    lengths: Vec<i64>,
    sizes: Vec<i64>,
    transitions: Vec<i64>,
}

impl ClosedRows {
    pub(crate) fn push(&mut self, run_key: i64, status: i32, closed: Closed) {
        let Closed {
            time_nanos,
            execution_duration_nanos,
            history_length,
            history_size_bytes,
            state_transition_count,
        } = closed;
        self.keys.push(run_key);
        self.statuses.push(status);
        self.close_times.push(to_micros(time_nanos));
        self.durations.push(execution_duration_nanos);
        self.lengths.push(history_length);
        self.sizes.push(history_size_bytes);
        self.transitions.push(state_transition_count);
    }

    /// Updates the rows, and changes nothing else.
    pub(crate) fn statement(self) -> Option<Statement> {
        if self.keys.is_empty() {
            return None;
        }
        let parameters = vec![
            int8s(self.keys),
            optional(self.statuses, Type::INT4_ARRAY),
            int8s(self.close_times),
            int8s(self.durations),
            int8s(self.lengths),
            int8s(self.sizes),
            int8s(self.transitions),
        ];
        Some(Statement::new(include_str!("close.sql"), parameters))
    }
}

#[cfg(test)]
mod tests {
    use super::array_literal;

    #[test]
    fn items_of_an_array_are_quoted() {
        let list = ["plain", "", "NULL", "a,b", "{\"x\"}", "back\\slash"].map(str::to_owned);
        let expected = r#"{"plain","","NULL","a,b","{\"x\"}","back\\slash"}"#;
        assert_eq!(array_literal(&list), expected);
        assert_eq!(array_literal(&[]), "{}");
    }
}
