//! `KEY=VALUE` pairs whose values are JSON: memos, search attributes, headers.

use std::collections::HashMap;

use perennial_proto::temporal::common::v1::{Header, Memo, Payload, SearchAttributes};
use serde_json::Value;

use super::payloads::json_payload;

/// Reads `KEY=JSON`. Text that is no JSON is refused: whoever forgot its quotes would store something else.
pub(crate) fn json_pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text_pair(text)?;
    match serde_json::from_str(&value) {
        Ok(json) => Ok((key, json)),
        Err(error) => Err(format!(
            "the value of {key} is not JSON ({error}); a text has quotes: '{key}=\"{value}\"'"
        )),
    }
}

/// Reads JSON.
pub(crate) fn json_value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("this is not JSON ({error}); a text has quotes: '\"{text}\"'"))
}

/// Reads `KEY=TEXT`.
pub(crate) fn text_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

/// A memo; nothing if no pair was given.
pub(crate) fn memo(pairs: &[(String, Value)]) -> Option<Memo> {
    (!pairs.is_empty()).then(|| Memo { fields: payloads(pairs) })
}

/// Search attributes; nothing if no pair was given. The server knows their types.
pub(crate) fn search_attributes(pairs: &[(String, Value)]) -> Option<SearchAttributes> {
    (!pairs.is_empty()).then(|| SearchAttributes { indexed_fields: payloads(pairs) })
}

/// Headers that workflow code sees; nothing if no pair was given.
pub(crate) fn headers(pairs: &[(String, Value)]) -> Option<Header> {
    (!pairs.is_empty()).then(|| Header { fields: payloads(pairs) })
}

fn payloads(pairs: &[(String, Value)]) -> HashMap<String, Payload> {
    pairs.iter().map(|(key, value)| (key.clone(), json_payload(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_and_text_without_quotes_is_told_so() {
        assert_eq!(json_pair("a=[1]").unwrap(), ("a".to_owned(), serde_json::json!([1])));
        assert_eq!(json_pair("a=\"b=c\"").unwrap().1, serde_json::json!("b=c"));
        let error = json_pair("city=Oslo").unwrap_err();
        assert!(error.ends_with("a text has quotes: 'city=\"Oslo\"'"), "{error}");
        assert_eq!(json_pair("city").unwrap_err(), "write KEY=VALUE");
    }
}
