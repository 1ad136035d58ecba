//! Memos and search attributes: values by name.

use std::collections::HashMap;

use perennial_proto::temporal::common::v1::{Memo, Payload, SearchAttributes};

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

/// New values replace old ones of the same name, unless they say that it is to be removed.
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

/// What something begins with: where nothing is yet, there is nothing to remove.
pub(crate) fn first<F: Fields>(given: Option<F>) -> Option<F> {
    let mut given = given?;
    given.by_name().retain(|_, value| !is_removal(value));
    (!given.by_name().is_empty()).then_some(given)
}

/// SDKs say "remove" with a payload that decodes to nothing.
fn is_removal(value: &Payload) -> bool {
    let encoding = value.metadata.get("encoding").map(Vec::as_slice);
    value.data.is_empty()
        || encoding == Some(b"binary/null")
        || value.data == b"null"
        || value.data == b"[]"
}
