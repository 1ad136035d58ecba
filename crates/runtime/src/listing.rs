//! Visibility rows of runs and schedules.

use std::sync::Arc;

use perennial_engine::RunPart;
use perennial_engine::run::Run;
use perennial_engine::schedule::{Schedule, Status};
use perennial_proto::store::NamespaceRecord;
use perennial_proto::temporal::common::v1::SearchAttributes;
use perennial_proto::temporal::enums::v1::{IndexedValueType, WorkflowExecutionStatus};
use perennial_store::visibility::{
    AttributeColumn, Attributes, Closed, Execution, ExecutionKey, Predefined, Row, Value,
    ValueType, Values,
};
use prost::Message;
use serde_json::Value as Json;

/// The visibility row of a run, written when it starts, closes, or changes a visible field.
pub(crate) fn row_of(run: &Run, namespace: Option<&NamespaceRecord>) -> Row {
    let head = &run.head;
    let (values, search_attributes) = typed(run.shown_search_attributes(), namespace);
    let key = |workflow_id: &str, run_id: &str| ExecutionKey {
        workflow_id: workflow_id.to_owned(),
        run_id: run_id.to_owned(),
    };
    let parent = run.started.parent_workflow_execution.as_ref();
    let root = run.started.root_workflow_execution.as_ref();
    let execution = Execution {
        run_key: run.key.0,
        workflow_id: head.workflow_id.clone(),
        run_id: head.run_id.clone(),
        workflow_type: run.started.workflow_type.as_ref().map_or("", |it| &it.name).to_owned(),
        task_queue: run.task_queue().to_owned(),
        status: head.status,
        start_time_nanos: head.started_at,
        execution_time_nanos: head.first_task_at,
        closed: closed(run),
        parent: parent.map(|parent| key(&parent.workflow_id, &parent.run_id)),
        root: root.map_or_else(
            || key(&head.workflow_id, &head.run_id),
            |root| key(&root.workflow_id, &root.run_id),
        ),
        memo: head.memo.as_ref().map(Message::encode_to_vec).unwrap_or_default(),
        search_attributes,
    };
    Row { namespace: head.namespace, execution, values }
}

/// The close of a run, if nothing else in its row has changed.
pub(crate) fn close_of(run: &Run, before: &Run) -> Option<Closed> {
    let (head, earlier) = (&run.head, &before.head);
    let is_the_same = head.search_attributes == earlier.search_attributes
        && head.memo == earlier.memo
        && head.started_at == earlier.started_at
        && head.first_task_at == earlier.first_task_at
        // The start never changes. Comparing it by value would read its whole input.
        && Arc::ptr_eq(&run.started, &before.started)
        && run.reported_problems() == before.reported_problems()
        && before.paused_activity_types().is_empty();
    closed(run).filter(|_| is_the_same)
}

/// Whether a step that changed these parts of a run paused or unpaused an activity.
pub(crate) fn pauses_differ<'a>(
    run: &Run,
    before: &Run,
    mut touched: impl Iterator<Item = &'a RunPart>,
) -> bool {
    let is_paused = |run: &Run, id| run.activities.get(id).is_some_and(|it| it.paused.is_some());
    touched.any(|part| match part {
        RunPart::Activity(id) => is_paused(run, id) != is_paused(before, id),
        _ => false,
    })
}

fn closed(run: &Run) -> Option<Closed> {
    let head = &run.head;
    (!run.is_open()).then(|| Closed {
        time_nanos: head.closed_at,
        // Negative if it closed before its first task was due.
        execution_duration_nanos: head.closed_at.saturating_sub(head.first_task_at),
        history_length: run.last_event_id(),
        history_size_bytes: head.history_bytes,
        state_transition_count: head.state_transitions,
    })
}

/// The namespace division of schedules, which lists of workflows exclude.
pub(crate) const SCHEDULE_DIVISION: &str = "TemporalScheduler";

/// The visibility row of a schedule, written when a client changes it. It contains nothing about its runs.
pub(crate) fn schedule_row(schedule: &Schedule, namespace: Option<&NamespaceRecord>) -> Row {
    let (head, config) = (&schedule.head, &schedule.config);
    let given = config.search_attributes.clone().unwrap_or_default();
    let (mut values, search_attributes) = typed(given, namespace);
    let is_deleted = schedule.status() == Status::Deleted;
    let status = if is_deleted {
        WorkflowExecutionStatus::Completed
    } else {
        WorkflowExecutionStatus::Running
    };
    let closed = is_deleted.then(|| Closed {
        time_nanos: head.deleted_at,
        execution_duration_nanos: head.deleted_at.saturating_sub(head.created_at),
        history_length: head.audit_sequence,
        history_size_bytes: 0,
        state_transition_count: head.conflict_token,
    });
    let execution = Execution {
        run_key: schedule.key.0,
        workflow_id: head.schedule_id.clone(),
        run_id: head.incarnation.clone(),
        workflow_type: "temporal-sys-scheduler-workflow".to_owned(),
        task_queue: String::new(),
        status: status.into(),
        start_time_nanos: head.created_at,
        execution_time_nanos: head.created_at,
        closed,
        parent: None,
        root: ExecutionKey {
            workflow_id: head.schedule_id.clone(),
            run_id: head.incarnation.clone(),
        },
        memo: config.memo.as_ref().map(Message::encode_to_vec).unwrap_or_default(),
        search_attributes,
    };
    let mut set = |predefined, value| {
        // Each is of its column's type.
        let _ = values.set(AttributeColumn::Predefined(predefined), value);
    };
    set(Predefined::TemporalNamespaceDivision, Value::Keyword(SCHEDULE_DIVISION.to_owned()));
    set(Predefined::TemporalSchedulePaused, Value::Bool(head.paused));
    let labels = schedule.labels();
    if !labels.is_empty() {
        set(Predefined::PerennialLabels, Value::KeywordList(labels));
    }
    Row { namespace: head.namespace, execution, values }
}

/// Search attributes that a namespace's filters may use.
pub(crate) fn attributes_of(namespace: &NamespaceRecord) -> Attributes {
    namespace.search_attributes.iter().fold(Attributes::builtin(), |known, attribute| {
        let column = column_of(attribute.value_type, attribute.column);
        let Some(AttributeColumn::Custom { value_type, number }) = column else { return known };
        known.clone().with_custom(&attribute.name, value_type, number).unwrap_or(known)
    })
}

/// Search attributes as typed values for filters, and encoded for lists. Each value is normalised.
fn typed(
    mut attributes: SearchAttributes,
    namespace: Option<&NamespaceRecord>,
) -> (Values, Vec<u8>) {
    let mut values = Values::default();
    for (name, payload) in &mut attributes.indexed_fields {
        let predefined = Predefined::ALL.iter().find(|it| it.name() == name);
        let column = predefined.map(|it| AttributeColumn::Predefined(*it)).or_else(|| {
            let custom = namespace?.search_attributes.iter().find(|it| it.name == *name)?;
            column_of(custom.value_type, custom.column)
        });
        let Some(column) = column else { continue };
        let json =
            serde_json::from_slice(&payload.data).map(|json| single(json, column.value_type()));
        let Ok(Some(json)) = json else { continue };
        if let Some(value) = value_of(&json, column.value_type()) {
            payload.data = match value {
                Value::Double(number) => number_text(number).into_bytes(),
                _ => json.to_string().into_bytes(),
            };
            // Builds and checksums of workers aren't checked like values that users set. Databases can't store this
            // character, so such a value is shown and can't be searched for.
            if value.texts().any(|text| text.contains('\0')) {
                continue;
            }
            // The value has the column's type.
            let _ = values.set(column, value);
        }
    }
    (values, attributes.encode_to_vec())
}

/// SDKs write a single value as a list of one.
fn single(json: Json, value_type: ValueType) -> Option<Json> {
    match json {
        Json::Array(items) if value_type != ValueType::KeywordList => items.into_iter().next(),
        json => Some(json),
    }
}

/// A number as Temporal's server writes it: `5`, not `5.0`; `1e+30`, not thirty zeros.
fn number_text(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    if size < 1.0 { text } else { text.replace('e', "e+") }
}

fn column_of(value_type: i32, number: i32) -> Option<AttributeColumn> {
    let value_type = match IndexedValueType::try_from(value_type).ok()? {
        IndexedValueType::Text => ValueType::Text,
        IndexedValueType::Keyword => ValueType::Keyword,
        IndexedValueType::Int => ValueType::Int,
        IndexedValueType::Double => ValueType::Double,
        IndexedValueType::Bool => ValueType::Bool,
        IndexedValueType::Datetime => ValueType::Datetime,
        IndexedValueType::KeywordList => ValueType::KeywordList,
        IndexedValueType::Unspecified => return None,
    };
    Some(AttributeColumn::Custom { value_type, number: u8::try_from(number).ok()? })
}

/// A value of this type; `None` if it has another one. Values of clients were validated on arrival.
fn value_of(json: &Json, value_type: ValueType) -> Option<Value> {
    let text = || json.as_str().map(str::to_owned);
    match value_type {
        ValueType::Keyword => text().map(Value::Keyword),
        ValueType::Text => text().map(Value::Text),
        ValueType::KeywordList => {
            let items = json.as_array()?.iter().map(|item| item.as_str().map(str::to_owned));
            items.collect::<Option<_>>().map(Value::KeywordList)
        }
        ValueType::Int => json.as_i64().map(Value::Int),
        ValueType::Double => json.as_f64().map(Value::Double),
        ValueType::Bool => json.as_bool().map(Value::Bool),
        ValueType::Datetime => {
            let time: jiff::Timestamp = json.as_str()?.parse().ok()?;
            i64::try_from(time.as_nanosecond()).ok().map(Value::Datetime)
        }
    }
}
