//! Search attributes: which ones a namespace has, and whether values fit them.

use std::collections::BTreeMap;

use perennial_proto::store::NamespaceRecord;
use perennial_proto::temporal::common::v1::{Payload, SearchAttributes};
use perennial_proto::temporal::enums::v1::IndexedValueType as Kind;
use prost::Message;
use serde_json::Value;

use crate::errors::Answer;
use crate::validate::invalid;

/// What every run has, and nobody sets.
pub(crate) const SYSTEM: [(&str, Kind); 16] = [
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

/// What every namespace has and SDKs or the server set.
pub(crate) const PREDEFINED: [(&str, Kind); 17] = [
    ("BatcherNamespace", Kind::Keyword),
    ("BatcherUser", Kind::Keyword),
    ("BinaryChecksums", Kind::KeywordList),
    ("BuildIds", Kind::KeywordList),
    ("PerennialLabels", Kind::KeywordList),
    ("TemporalChangeVersion", Kind::KeywordList),
    ("TemporalExternalPayloadCount", Kind::Int),
    ("TemporalExternalPayloadSizeBytes", Kind::Int),
    ("TemporalNamespaceDivision", Kind::Keyword),
    ("TemporalPauseInfo", Kind::KeywordList),
    ("TemporalReportedProblems", Kind::KeywordList),
    ("TemporalSchedulePaused", Kind::Bool),
    ("TemporalScheduledById", Kind::Keyword),
    ("TemporalScheduledStartTime", Kind::Datetime),
    ("TemporalWorkerDeployment", Kind::Keyword),
    ("TemporalWorkerDeploymentVersion", Kind::Keyword),
    ("TemporalWorkflowVersioningBehavior", Kind::Keyword),
];

/// Custom attributes of one type that a namespace may have.
pub(crate) fn columns_of(kind: Kind) -> i32 {
    match kind {
        Kind::Unspecified => 0,
        Kind::Text => 3,
        Kind::Keyword => 15,
        Kind::Int | Kind::Double | Kind::Bool | Kind::Datetime | Kind::KeywordList => 5,
    }
}

/// As it stands in messages and in the metadata of payloads.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
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

/// The type that has this name.
pub(crate) fn kind_named(name: &str) -> Option<Kind> {
    KINDS.into_iter().find(|kind| kind_name(*kind) == name)
}

/// Every type there is.
const KINDS: [Kind; 7] = [
    Kind::Text,
    Kind::Keyword,
    Kind::Int,
    Kind::Double,
    Kind::Bool,
    Kind::Datetime,
    Kind::KeywordList,
];

/// The attributes that workflows of a namespace may set, by name.
pub(crate) fn settable(namespace: &NamespaceRecord) -> BTreeMap<String, i32> {
    let predefined = PREDEFINED.iter().map(|(name, kind)| ((*name).to_owned(), *kind as i32));
    let custom = namespace.search_attributes.iter();
    predefined
        .chain(custom.map(|attribute| (attribute.name.clone(), attribute.value_type)))
        .collect()
}

/// Attributes of a start: known ones with values that fit, which say their type from here on.
pub(crate) fn checked(
    attributes: Option<SearchAttributes>,
    namespace: &NamespaceRecord,
) -> Answer<Option<SearchAttributes>> {
    const COUNT_MAX: usize = 100;
    const VALUE_BYTES_MAX: usize = 2 * 1024;
    const BYTES_MAX: usize = 40 * 1024;

    let Some(mut attributes) = attributes.filter(|given| !given.indexed_fields.is_empty()) else {
        return Ok(None);
    };
    let count = attributes.indexed_fields.len();
    if count > COUNT_MAX {
        return invalid(format!("number of search attributes {count} exceeds limit {COUNT_MAX}"));
    }
    let known = settable(namespace);
    for (name, payload) in &mut attributes.indexed_fields {
        if SYSTEM.iter().any(|(system, _)| system == name) {
            return invalid(format!("{name} attribute can't be set in SearchAttributes"));
        }
        let Some(kind) = known.get(name).and_then(|kind| Kind::try_from(*kind).ok()) else {
            return invalid(format!(
                "Namespace {} has no mapping defined for search attribute {name}",
                namespace.name
            ));
        };
        if payload.data.len() > VALUE_BYTES_MAX {
            return invalid(format!(
                "search attribute {name} value size {} exceeds size limit {VALUE_BYTES_MAX}",
                payload.data.len()
            ));
        }
        if !fits(payload, kind) {
            return invalid(format!(
                "invalid value for search attribute {name} of type {}: {}",
                kind_name(kind),
                shown(payload)
            ));
        }
        payload.metadata.insert("type".to_owned(), kind_name(kind).as_bytes().to_vec());
    }
    let bytes = attributes.encoded_len();
    if bytes > BYTES_MAX {
        return invalid(format!(
            "total size of search attributes {bytes} exceeds size limit {BYTES_MAX}"
        ));
    }
    Ok(Some(attributes))
}

/// Whether a payload holds a value of that type, or none.
fn fits(payload: &Payload, kind: Kind) -> bool {
    if payload.metadata.get("encoding").is_some_and(|encoding| encoding == b"binary/null") {
        return true;
    }
    let Ok(value) = serde_json::from_slice::<Value>(&payload.data) else {
        return false;
    };
    match value {
        // Both take the attribute away.
        Value::Null => true,
        Value::Array(values) if kind == Kind::KeywordList => values.iter().all(Value::is_string),
        Value::Array(values) => values.len() <= 1 && values.iter().all(|value| is(value, kind)),
        value => is(&value, kind),
    }
}

fn is(value: &Value, kind: Kind) -> bool {
    match kind {
        Kind::Unspecified => false,
        Kind::Text | Kind::Keyword | Kind::KeywordList => value.is_string(),
        Kind::Int => value.is_i64(),
        Kind::Double => value.is_number(),
        Kind::Bool => value.is_boolean(),
        Kind::Datetime => value.as_str().is_some_and(is_rfc_3339),
    }
}

fn is_rfc_3339(text: &str) -> bool {
    text.len() >= 20 && text.parse::<jiff::Timestamp>().is_ok()
}

/// A value as Temporal's server writes it into messages.
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

#[cfg(test)]
mod tests {
    use perennial_proto::store::SearchAttribute;

    use super::*;

    fn namespace() -> NamespaceRecord {
        let attribute = |name: &str, kind: Kind| SearchAttribute {
            name: name.to_owned(),
            value_type: kind.into(),
            column: 1,
        };
        NamespaceRecord {
            name: "default".to_owned(),
            search_attributes: vec![
                attribute("City", Kind::Keyword),
                attribute("Cities", Kind::KeywordList),
                attribute("Age", Kind::Int),
                attribute("Price", Kind::Double),
                attribute("Paid", Kind::Bool),
                attribute("Due", Kind::Datetime),
            ],
            ..NamespaceRecord::default()
        }
    }

    fn check(name: &str, json: &str) -> Result<String, String> {
        let payload = Payload { data: json.as_bytes().to_vec(), ..Payload::default() };
        let indexed_fields = [(name.to_owned(), payload)].into();
        checked(Some(SearchAttributes { indexed_fields }), &namespace())
            .map(|checked| {
                let kind = checked.unwrap().indexed_fields[name].metadata["type"].clone();
                String::from_utf8(kind).unwrap()
            })
            .map_err(|status| status.message().to_owned())
    }

    #[test]
    fn values_that_fit_say_their_type() {
        for (name, json, kind) in [
            ("City", "\"Oslo\"", "Keyword"),
            ("City", "[\"Oslo\"]", "Keyword"),
            ("City", "null", "Keyword"),
            ("City", "[]", "Keyword"),
            ("Cities", "[\"Oslo\",\"Bergen\"]", "KeywordList"),
            ("Cities", "\"Oslo\"", "KeywordList"),
            ("Age", "5", "Int"),
            ("Price", "5", "Double"),
            ("Price", "5.5", "Double"),
            ("Paid", "true", "Bool"),
            ("Due", "\"2026-01-01T00:00:00Z\"", "Datetime"),
            ("Due", "\"2026-01-01T00:00:00.5+02:00\"", "Datetime"),
            ("TemporalChangeVersion", "[\"v1\"]", "KeywordList"),
        ] {
            assert_eq!(check(name, json), Ok(kind.to_owned()), "{name} {json}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused_by_name_and_type() {
        for (name, json, message) in [
            ("City", "5", "invalid value for search attribute City of type Keyword: 5"),
            (
                "City",
                "[\"x\",\"y\"]",
                "invalid value for search attribute City of type Keyword: [x y]",
            ),
            ("Age", "5.5", "invalid value for search attribute Age of type Int: 5.5"),
            ("Due", "\"now\"", "invalid value for search attribute Due of type Datetime: now"),
            ("Nope", "5", "Namespace default has no mapping defined for search attribute Nope"),
            ("WorkflowType", "\"x\"", "WorkflowType attribute can't be set in SearchAttributes"),
        ] {
            assert_eq!(check(name, json), Err(message.to_owned()), "{name} {json}");
        }
    }
}
