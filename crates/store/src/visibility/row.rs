//! A row of the visibility table.

use std::collections::BTreeMap;

use super::column::{AttributeColumn, ValueType};

/// A row of the visibility table: the columns that lists show, and those that only filters use.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The namespace it belongs to.
    pub namespace: i64,
    /// The columns that lists show.
    pub execution: Execution,
    /// The search attributes, in the columns that hold them.
    pub values: Values,
}

impl Row {
    /// All texts that become values of columns.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let Execution { workflow_id, run_id, workflow_type, task_queue, parent, root, .. } =
            &self.execution;
        let own = [workflow_id, run_id, workflow_type, task_queue].into_iter();
        let keys = parent.iter().chain([root]).flat_map(|key| [&key.workflow_id, &key.run_id]);
        let values = self.values.iter().flat_map(|(_, value)| value.texts());
        own.chain(keys).map(String::as_str).chain(values)
    }
}

/// A run as lists show it.
///
/// Times are nanoseconds since the Unix epoch. The table keeps whole microseconds, as Temporal's does:
/// what most SDKs' clocks hold, so that a time taken from a list finds its run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The number of its key in the store, unique among all runs and schedules.
    pub run_key: i64,
    /// Unique among the open runs of a namespace.
    pub workflow_id: String,
    /// Unique in a namespace.
    pub run_id: String,
    /// Name of the workflow type.
    pub workflow_type: String,
    /// The queue its workflow tasks go to.
    pub task_queue: String,
    /// `temporal.api.enums.v1.WorkflowExecutionStatus`.
    pub status: i32,
    /// When the run was started.
    pub start_time_nanos: i64,
    /// When its first workflow task was due: later than the start for cron and delayed runs.
    pub execution_time_nanos: i64,
    /// Given once it has closed.
    pub closed: Option<Closed>,
    /// The run that started it as a child.
    pub parent: Option<ExecutionKey>,
    /// The run at the top of the family; itself, if it has no parent.
    pub root: ExecutionKey,
    /// An encoded `temporal.api.common.v1.Memo`.
    pub memo: Vec<u8>,
    /// An encoded `temporal.api.common.v1.SearchAttributes`.
    pub search_attributes: Vec<u8>,
}

impl Execution {
    /// As a list gives it back: times are whole microseconds.
    pub(crate) fn as_listed(&self) -> Self {
        let whole = |nanos| to_micros(nanos).saturating_mul(1_000);
        let closed = self.closed.clone();
        Self {
            start_time_nanos: whole(self.start_time_nanos),
            execution_time_nanos: whole(self.execution_time_nanos),
            closed: closed.map(|closed| Closed { time_nanos: whole(closed.time_nanos), ..closed }),
            ..self.clone()
        }
    }
}

/// The columns that only a closed run has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The close time in nanoseconds since the Unix epoch.
    pub time_nanos: i64,
    /// From execution time to close time.
    pub execution_duration_nanos: i64,
    /// Number of events.
    pub history_length: i64,
    /// Bytes of all events.
    pub history_size_bytes: i64,
    /// Number of commits that changed the run.
    pub state_transition_count: i64,
}

/// The workflow id and run id of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionKey {
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
}

/// A value of a search attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A value of type [`ValueType::Keyword`].
    Keyword(String),
    /// A value of type [`ValueType::KeywordList`].
    KeywordList(Vec<String>),
    /// A value of type [`ValueType::Text`].
    Text(String),
    /// A value of type [`ValueType::Int`].
    Int(i64),
    /// A value of type [`ValueType::Double`].
    Double(f64),
    /// A value of type [`ValueType::Bool`].
    Bool(bool),
    /// A value of type [`ValueType::Datetime`], in nanoseconds since the Unix epoch.
    Datetime(i64),
}

impl Value {
    /// Its type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::Keyword(_) => ValueType::Keyword,
            Self::KeywordList(_) => ValueType::KeywordList,
            Self::Text(_) => ValueType::Text,
            Self::Int(_) => ValueType::Int,
            Self::Double(_) => ValueType::Double,
            Self::Bool(_) => ValueType::Bool,
            Self::Datetime(_) => ValueType::Datetime,
        }
    }

    /// Its texts: none, one, or those of a list.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Self::Keyword(text) | Self::Text(text) => std::slice::from_ref(text),
            Self::KeywordList(list) => list.as_slice(),
            Self::Int(_) | Self::Double(_) | Self::Bool(_) | Self::Datetime(_) => &[],
        };
        texts.iter().map(String::as_str)
    }
}

/// The search attributes of a run by column. Each value is of its column's type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values(BTreeMap<AttributeColumn, Value>);

/// The refusal of a value for a column of another type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column} holds {expected} values, not {found}; register the attribute as {found}")]
pub struct ValueTypeMismatch {
    column: String,
    expected: ValueType,
    found: ValueType,
}

impl Values {
    /// Sets the value of a column. NaN is no value.
    pub fn set(&mut self, column: AttributeColumn, value: Value) -> Result<(), ValueTypeMismatch> {
        let (expected, found) = (column.value_type(), value.value_type());
        if expected != found {
            let column = column.field_name().into_owned();
            return Err(ValueTypeMismatch { column, expected, found });
        }
        if matches!(value, Value::Double(double) if double.is_nan()) {
            self.0.remove(&column);
        } else {
            self.0.insert(column, value);
        }
        Ok(())
    }

    /// The columns that have a value, and their values.
    pub fn iter(&self) -> impl Iterator<Item = (AttributeColumn, &Value)> {
        self.0.iter().map(|(column, value)| (*column, value))
    }

    /// The value of a column.
    pub fn get(&self, column: AttributeColumn) -> Option<&Value> {
        self.0.get(&column)
    }
}

/// Microseconds, the precision that times are kept and compared in.
pub(super) fn to_micros(nanos: i64) -> i64 {
    nanos.div_euclid(1_000)
}
