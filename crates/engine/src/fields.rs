//! Memos and search attributes: maps of payloads by name.

use std::collections::HashMap;

use perennial_proto::temporal::common::v1::{Memo, Payload, SearchAttributes};
use perennial_proto::temporal::enums::v1::IndexedValueType as Kind;

use crate::search_attributes::kind_name;

pub(crate) trait Fields: Default {
    fn by_name(&mut self) -> &mut HashMap<String, Payload>;
}

impl Fields for Memo {
    fn by_name(&mut self) -> &mut HashMap<String, Payload> {
        &mut self.fields
    }
}

impl Fields for SearchAttributes {
    fn by_name(&mut self) -> &mut HashMap<String, Payload> {
        &mut self.indexed_fields
    }
}

/// Merges new values into present ones. A payload that stands for "remove" removes the value of its name.
pub(crate) fn merge<F: Fields>(present: &mut Option<F>, upserted: Option<F>) {
    let Some(mut upserted) = upserted else { return };
    let fields = present.get_or_insert_default().by_name();
    for (name, value) in upserted.by_name().drain() {
        if is_removal(&value) {
            fields.remove(&name);
        } else {
            fields.insert(name, value);
        }
    }
}

/// The initial values: payloads that stand for "remove" are left out, as there is nothing to remove yet.
pub(crate) fn initial<F: Fields>(given: Option<F>) -> Option<F> {
    let mut given = given?;
    given.by_name().retain(|_, value| !is_removal(value));
    (!given.by_name().is_empty()).then_some(given)
}

/// SDKs ask for removal with a payload that decodes to nothing.
fn is_removal(value: &Payload) -> bool {
    let encoding = value.metadata.get("encoding").map(Vec::as_slice);
    value.data.is_empty()
        || encoding == Some(b"binary/null")
        || value.data == b"null"
        || value.data == b"[]"
}

/// A JSON payload as SDKs read it, with its type if it is a search attribute.
pub(crate) fn json_payload(value: &serde_json::Value, kind: Option<Kind>) -> Payload {
    let mut metadata = HashMap::new();
    metadata.insert("encoding".to_owned(), b"json/plain".to_vec());
    if let Some(kind) = kind {
        metadata.insert("type".to_owned(), kind_name(kind).as_bytes().to_vec());
    }
    // Encoding fails only for maps whose keys aren't strings, and `Value` has none.
    let data = serde_json::to_vec(value).unwrap_or_default();
    Payload { metadata, data, ..Payload::default() }
}

/// Whether a text has the character U+0000, which PostgreSQL can't store.
pub(crate) fn has_null_character(text: &str) -> bool {
    text.contains('\0')
}
