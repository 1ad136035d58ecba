//! `KEY=VALUE` pairs whose values are JSON: memos, search attributes, headers.

use std::collections::HashMap;

use perennial_proto::temporal::common::v1::{Header, Memo, Payload, SearchAttributes};
use serde_json::Value;

use super::payloads::json_payload;

/// Parses `KEY=JSON`. Unquoted text is an error, so that `=007` isn't stored as a number by accident.
pub(crate) fn json_pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text_pair(text)?;
    match serde_json::from_str(&value) {
        Ok(json) => Ok((key, json)),
        Err(error) => Err(format!(
            "the value of {key} is not JSON ({error}); quote text: '{key}=\"{value}\"'"
        )),
    }
}

/// Parses JSON.
pub(crate) fn json_value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("this is not JSON ({error}); quote text: '\"{text}\"'"))
}

/// Parses `KEY=TEXT`.
pub(crate) fn text_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

/// A memo; `None` without pairs.
pub(crate) fn memo(pairs: &[(String, Value)]) -> Option<Memo> {
    (!pairs.is_empty()).then(|| Memo { fields: payloads(pairs) })
}

/// Search attributes; `None` without pairs. The server knows their types.
pub(crate) fn search_attributes(pairs: &[(String, Value)]) -> Option<SearchAttributes> {
    (!pairs.is_empty()).then(|| SearchAttributes { indexed_fields: payloads(pairs) })
}

/// Headers for workflow code; `None` without pairs.
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
        assert!(error.ends_with("quote text: 'city=\"Oslo\"'"), "{error}");
        assert_eq!(json_pair("city").unwrap_err(), "write KEY=VALUE");
    }
}
