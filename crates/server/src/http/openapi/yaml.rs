//! JSON as YAML: the same document for people who read.

use std::fmt::Write;

use serde_json::Value;

/// Blocks for what holds something, JSON for the rest, which is YAML too.
pub(super) fn text(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, depth: usize, out: &mut String) {
    // Writing to a text can't fail.
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                let _ = write!(out, "{}{}:", "  ".repeat(depth), scalar(key));
                held(value, depth, out);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for value in values {
                let _ = write!(out, "{}-", "  ".repeat(depth));
                held(value, depth, out);
            }
        }
        value => {
            let _ = writeln!(out, "{}{value}", "  ".repeat(depth));
        }
    }
}

fn held(value: &Value, depth: usize, out: &mut String) {
    let is_block = match value {
        Value::Object(object) => !object.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => false,
    };
    if is_block {
        out.push('\n');
        block(value, depth + 1, out);
    } else {
        let _ = match value {
            Value::String(text) => writeln!(out, " {}", scalar(text)),
            value => writeln!(out, " {value}"),
        };
    }
}

/// Words that nothing else could be stand bare; everything else is quoted as in JSON.
fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_./".contains(letter));
    let is_reserved = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    if is_word && !is_reserved { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn document_is_written_in_blocks() {
        let document = json!({
            "type": "object", "empty": {}, "none": [], "on": true,
            "list": [1, {"a: b": "no", "c": ["x y"]}],
        });
        let text = text(&document);
        assert_eq!(
            text,
            "type: object\nempty: {}\nnone: []\n\"on\": true\nlist:\n  - 1\n  -\n    \"a: b\": \"no\"\n    c:\n      - \"x y\"\n"
        );
    }
}
