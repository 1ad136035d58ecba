//! Parses arguments of the form `KEY=VALUE`.

use perennial_library::NewSearchAttribute;
use serde_json::Value;

/// A dynamic configuration value: `limit.blobSize.error=100`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigValue {
    pub(super) key: String,
    pub(super) value: Value,
}

/// Parses a search attribute: `City=Keyword`.
pub(super) fn search_attribute(text: &str) -> Result<NewSearchAttribute, String> {
    let (name, kind) = split(text)?;
    NewSearchAttribute::new(name, kind).ok_or_else(|| {
        format!(
            "`{kind}` is not a search attribute type; use one of Text, Keyword, Int, Double, Bool, \
             Datetime, KeywordList"
        )
    })
}

/// Parses a dynamic configuration value, which is JSON.
pub(super) fn config_value(text: &str) -> Result<ConfigValue, String> {
    let (key, json) = split(text)?;
    let value = serde_json::from_str(json)
        .map_err(|error| format!("the value of `{key}` is not JSON: {error}"))?;
    Ok(ConfigValue { key: key.to_owned(), value })
}

/// Parses an SQLite pragma: `synchronous=normal`.
pub(super) fn pragma(text: &str) -> Result<(String, String), String> {
    let (name, value) = split(text)?;
    Ok((name.to_lowercase(), value.to_lowercase()))
}

fn split(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key, value)),
        _ => Err(format!("`{text}` is not of the form KEY=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_split_at_the_first_equals_sign() {
        assert_eq!(
            config_value("some.key=\"a=b\"").unwrap(),
            ConfigValue { key: "some.key".to_owned(), value: "a=b".into() }
        );
    }

    #[test]
    fn bad_pairs_say_what_is_wrong() {
        assert_eq!(config_value("x").unwrap_err(), "`x` is not of the form KEY=VALUE");
        assert_eq!(config_value("=1").unwrap_err(), "`=1` is not of the form KEY=VALUE");
        assert!(config_value("x=oops").unwrap_err().starts_with("the value of `x` is not JSON"));
        assert!(
            search_attribute("City=Place")
                .unwrap_err()
                .starts_with("`Place` is not a search attribute type")
        );
    }
}
