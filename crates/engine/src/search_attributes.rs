//! Search attributes: checks that values fit the types of the namespace.

use std::collections::BTreeMap;

use perennial_proto::temporal::common::v1::{Payload, SearchAttributes};
use perennial_proto::temporal::enums::v1::IndexedValueType as Kind;
use prost::Message;
use serde_json::Value;

use crate::fields::has_null_character;

const COUNT_MAX: usize = 100;
pub(crate) const VALUE_BYTES_MAX: usize = 2 * 1024;
const BYTES_MAX: usize = 40 * 1024;

/// System search attributes. Every run has them, and users can't set them.
pub const SYSTEM: [(&str, Kind); 16] = [
    ("CloseTime", Kind::Datetime),
    ("ExecutionDuration", Kind::Int),
    ("ExecutionStatus", Kind::Keyword),
    ("ExecutionTime", Kind::Datetime),
    ("HistoryLength", Kind::Int),
    ("HistorySizeBytes", Kind::Int),
    ("ParentRunId", Kind::Keyword),
    ("ParentWorkflowId", Kind::Keyword),
    ("RootRunId", Kind::Keyword),
    ("RootWorkflowId", Kind::Keyword),
    ("RunId", Kind::Keyword),
    ("StartTime", Kind::Datetime),
    ("StateTransitionCount", Kind::Int),
    ("TaskQueue", Kind::Keyword),
    ("WorkflowId", Kind::Keyword),
    ("WorkflowType", Kind::Keyword),
];

/// The reason why search attributes are rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchAttributeError {
    /// An attribute isn't known, or its value has another type.
    #[error("{0}")]
    Invalid(String),
    /// There are too many attributes, or they are too large.
    #[error("{0}")]
    TooLarge(String),
}

/// Checks that attributes are known (`known` has the numbers of their types by name) and that their values fit. Writes
/// the type into each value that names none.
pub fn check(
    attributes: &mut SearchAttributes,
    known: &BTreeMap<String, i32>,
    namespace: &str,
) -> Result<(), SearchAttributeError> {
    let count = attributes.indexed_fields.len();
    if count > COUNT_MAX {
        return Err(SearchAttributeError::TooLarge(format!(
            "number of search attributes {count} exceeds limit {COUNT_MAX}"
        )));
    }
    let mut fields: Vec<_> = attributes.indexed_fields.iter_mut().collect();
    // A fixed order, so that the error always names the same attribute.
    fields.sort_unstable_by_key(|(name, _)| *name);
    for (name, payload) in fields {
        check_one(name, payload, known, namespace)?;
    }
    let bytes = attributes.encoded_len();
    if bytes > BYTES_MAX {
        return Err(SearchAttributeError::TooLarge(format!(
            "total size of search attributes {bytes} exceeds size limit {BYTES_MAX}"
        )));
    }
    Ok(())
}

fn check_one(
    name: &str,
    payload: &mut Payload,
    known: &BTreeMap<String, i32>,
    namespace: &str,
) -> Result<(), SearchAttributeError> {
    if SYSTEM.iter().any(|(system, _)| *system == name) {
        return Err(SearchAttributeError::Invalid(format!(
            "{name} attribute can't be set in SearchAttributes"
        )));
    }
    let Some(kind) = known.get(name).and_then(|kind| Kind::try_from(*kind).ok()) else {
        return Err(SearchAttributeError::Invalid(format!(
            "Namespace {namespace} has no mapping defined for search attribute {name}{}",
            how_to_create(name)
        )));
    };
    if payload.data.len() > VALUE_BYTES_MAX {
        return Err(SearchAttributeError::TooLarge(format!(
            "search attribute {name} value size {} exceeds size limit {VALUE_BYTES_MAX}",
            payload.data.len()
        )));
    }
    if !fits(payload, kind) {
        return Err(SearchAttributeError::Invalid(format!(
            "invalid value for search attribute {name} of type {}: {}",
            kind_name(kind),
            shown(payload)
        )));
    }
    let said = payload.metadata.entry("type".to_owned());
    said.or_insert_with(|| kind_name(kind).as_bytes().to_vec());
    Ok(())
}

/// A hint for an attribute that the namespace doesn't have: the end of a sentence, empty if the name can't be an
/// attribute's.
pub fn how_to_create(name: &str) -> String {
    let can_be_one = !name.is_empty()
        && name.len() <= NAME_BYTES_REPEATED_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    match can_be_one {
        true => format!(
            "; create it with `perennial operator search-attribute create --name {name} --type Keyword`, or \
             with another type"
        ),
        false => String::new(),
    }
}

/// The hint doesn't repeat names that are longer.
const NAME_BYTES_REPEATED_MAX: usize = 64;

/// The type's name in messages and in the metadata of payloads.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Unspecified => "Unspecified",
        Kind::Text => "Text",
        Kind::Keyword => "Keyword",
        Kind::Int => "Int",
        Kind::Double => "Double",
        Kind::Bool => "Bool",
        Kind::Datetime => "Datetime",
        Kind::KeywordList => "KeywordList",
    }
}

/// Whether a payload holds a value of that type, or no value.
fn fits(payload: &Payload, kind: Kind) -> bool {
    if payload.metadata.get("encoding").is_some_and(|encoding| encoding == b"binary/null") {
        return true;
    }
    let Ok(value) = serde_json::from_slice::<Value>(&payload.data) else {
        return false;
    };
    match value {
        // Both remove the attribute.
        Value::Null => true,
        Value::Array(values) if kind == Kind::KeywordList => values.iter().all(is_storable_text),
        _ if kind == Kind::KeywordList => false,
        Value::Array(values) => values.len() <= 1 && values.iter().all(|value| is(value, kind)),
        value => is(&value, kind),
    }
}

fn is(value: &Value, kind: Kind) -> bool {
    match kind {
        Kind::Unspecified | Kind::KeywordList => false,
        Kind::Text | Kind::Keyword => is_storable_text(value),
        Kind::Int => value.is_i64(),
        Kind::Double => value.is_number(),
        Kind::Bool => value.is_boolean(),
        Kind::Datetime => value.as_str().is_some_and(is_rfc_3339),
    }
}

fn is_storable_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !has_null_character(text))
}

fn is_rfc_3339(text: &str) -> bool {
    text.len() >= 20 && text.parse::<jiff::Timestamp>().is_ok()
}

/// A value as Temporal's server prints it in messages.
fn shown(payload: &Payload) -> String {
    fn show(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Array(values) => {
                format!("[{}]", values.iter().map(show).collect::<Vec<_>>().join(" "))
            }
            value => value.to_string(),
        }
    }
    match serde_json::from_slice(&payload.data) {
        Ok(value) => show(&value),
        Err(_) => String::from_utf8_lossy(&payload.data).into_owned(),
    }
}
