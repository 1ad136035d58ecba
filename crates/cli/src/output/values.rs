//! Formats search attributes for people.

use perennial_proto::json::{Payloads, to_json};
use perennial_proto::temporal::common::v1::{Payload, SearchAttributes};
use serde_json::{Map, Value};

/// Search attributes as a JSON object, sorted by name.
pub(crate) fn attribute_values(attributes: &SearchAttributes) -> Value {
    let mut names: Vec<&String> = attributes.indexed_fields.keys().collect();
    names.sort_unstable();
    let values = names.into_iter().map(|name| {
        let payload = &attributes.indexed_fields[name];
        let value = attribute_value(payload);
        (name.clone(), value.unwrap_or_else(|| to_json(payload, Payloads::Shorthand)))
    });
    Value::Object(values.collect::<Map<_, _>>())
}

/// The value of a search attribute; `None` if it isn't JSON. Its payload has the attribute's type in its metadata, so
/// the JSON shorthand leaves it in base64.
pub(crate) fn attribute_value(payload: &Payload) -> Option<Value> {
    let encoding = payload.metadata.get("encoding").map(Vec::as_slice);
    (encoding == Some(b"json/plain")).then(|| serde_json::from_slice(&payload.data).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_its_type_is_shown_as_a_value() {
        let payload = |data: &str, encoding: &str| Payload {
            metadata: [
                ("encoding".to_owned(), encoding.into()),
                ("type".to_owned(), b"Keyword".to_vec()),
            ]
            .into(),
            data: data.into(),
            ..Payload::default()
        };
        let plain = payload("\"Oslo\"", "json/plain");
        let list = payload("[\"a\",\"b\"]", "json/plain");
        let indexed_fields = [("City".to_owned(), plain), ("All".to_owned(), list)].into();
        let shown = attribute_values(&SearchAttributes { indexed_fields });
        assert_eq!(shown.to_string(), r#"{"All":["a","b"],"City":"Oslo"}"#);
        assert_eq!(attribute_value(&payload("x", "binary/plain")), None);
    }
}
