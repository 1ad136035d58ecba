//! The search attributes of a namespace, and checks of their values.

use std::collections::BTreeMap;

use perennial_engine::search_attributes::check;
use perennial_proto::store::NamespaceRecord;
use perennial_proto::temporal::common::v1::SearchAttributes;
use perennial_proto::temporal::enums::v1::IndexedValueType as Kind;

pub(crate) use perennial_engine::search_attributes::{SYSTEM, kind_name};

use crate::errors::RpcResult;
use crate::validate::invalid;

/// Attributes of every namespace, set by SDKs or the server.
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

/// The most custom attributes of one type in a namespace.
pub(crate) fn columns_of(kind: Kind) -> i32 {
    match kind {
        Kind::Unspecified => 0,
        Kind::Text => 3,
        Kind::Keyword => 15,
        Kind::Int | Kind::Double | Kind::Bool | Kind::Datetime | Kind::KeywordList => 5,
    }
}

/// The type with this name.
pub(crate) fn kind_named(name: &str) -> Option<Kind> {
    KINDS.into_iter().find(|kind| kind_name(*kind) == name)
}

/// All types.
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

/// Checks the attributes of a start, and adds the type to each payload.
pub(crate) fn checked(
    attributes: Option<SearchAttributes>,
    namespace: &NamespaceRecord,
) -> RpcResult<Option<SearchAttributes>> {
    let Some(mut attributes) = attributes.filter(|given| !given.indexed_fields.is_empty()) else {
        return Ok(None);
    };
    match check(&mut attributes, &settable(namespace), &namespace.name) {
        Ok(()) => Ok(Some(attributes)),
        Err(unfit) => invalid(unfit.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use perennial_proto::store::SearchAttribute;
    use perennial_proto::temporal::common::v1::Payload;

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
            (
                "Cities",
                "\"Oslo\"",
                "invalid value for search attribute Cities of type KeywordList: Oslo",
            ),
            ("Age", "5.5", "invalid value for search attribute Age of type Int: 5.5"),
            ("Due", "\"now\"", "invalid value for search attribute Due of type Datetime: now"),
            (
                "Nope",
                "5",
                "Namespace default has no mapping defined for search attribute Nope; create it with `perennial \
                 operator search-attribute create --name Nope --type Keyword`, or with another type",
            ),
            ("WorkflowType", "\"x\"", "WorkflowType attribute can't be set in SearchAttributes"),
        ] {
            assert_eq!(check(name, json), Err(message.to_owned()), "{name} {json}");
        }
    }
}
