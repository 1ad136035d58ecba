//! Estimates the memory of JSON without parsing it into a tree.

use prost_reflect::{Kind, MessageDescriptor};

use super::{PAYLOAD, is_well_known};

/// Counts of a text or a message, from one pass over its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measure {
    /// Length in bytes.
    pub bytes: usize,
    /// JSON values: numbers, strings, objects, arrays, keys.
    pub values: usize,
    /// Maximum nesting.
    pub depth: usize,
    /// Number of messages; 0 for plain JSON.
    pub messages: usize,
}

/// Measures JSON. The count is an upper bound for invalid JSON too.
///
/// ```
/// use perennial_proto::json::measure;
///
/// let found = measure(br#"{"input": [1, "a,b", []]}"#);
/// assert_eq!((found.values, found.depth), (6, 3));
/// ```
pub fn measure(text: &[u8]) -> Measure {
    let mut found = Measure { bytes: text.len(), ..Measure::default() };
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    // A value begins at the start, or after a comma, colon or opening bracket.
    let mut after = true;
    for byte in text {
        if in_text {
            (in_text, is_escaped) = (is_escaped || *byte != b'"', !is_escaped && *byte == b'\\');
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b',' | b':' => {
                after = true;
                continue;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                after = false;
                continue;
            }
            _ => {}
        }
        found.values += usize::from(after);
        after = matches!(byte, b'[' | b'{');
        depth += usize::from(after);
        found.depth = found.depth.max(depth);
        in_text = *byte == b'"';
    }
    found
}

/// Measures an encoded message, including the JSON in its payloads. Invalid bytes are measured up to the first
/// error.
pub fn measure_message(descriptor: &MessageDescriptor, bytes: &[u8]) -> Measure {
    let mut found = Measure { bytes: bytes.len(), ..Measure::default() };
    add(&mut found, descriptor, bytes, 1);
    found
}

/// Limit of the recursion, deeper than protobuf allows.
const DEPTH_MAX: usize = 110;

fn add(found: &mut Measure, descriptor: &MessageDescriptor, mut bytes: &[u8], depth: usize) {
    found.messages += 1;
    found.depth = found.depth.max(depth);
    while let Some((number, field)) = next_field(&mut bytes) {
        found.values += 1;
        let Field::Delimited(inner) = field else { continue };
        if number == PAYLOAD_DATA && descriptor.full_name() == PAYLOAD {
            found.values += measure(inner).values;
            continue;
        }
        let Some(field) = descriptor.get_field(number) else { continue };
        match field.kind() {
            Kind::Message(message) if depth < DEPTH_MAX && !is_scalar(&message) => {
                add(found, &message, inner, depth + 1);
            }
            Kind::Message(_) => found.messages += 1,
            // A packed list of numbers: each takes at least one byte.
            kind if field.is_list() && !matches!(kind, Kind::String | Kind::Bytes) => {
                found.values += inner.len();
            }
            _ => {}
        }
    }
}

/// Field number of a payload's data, which is often JSON.
const PAYLOAD_DATA: u32 = 2;

/// Times, durations and similar types: their fields are not counted.
fn is_scalar(message: &MessageDescriptor) -> bool {
    is_well_known(message)
}

enum Field<'a> {
    Delimited(&'a [u8]),
    Other,
}

/// Takes a field off the front of a message, with its number.
fn next_field<'a>(bytes: &mut &'a [u8]) -> Option<(u32, Field<'a>)> {
    let key = varint(bytes)?;
    let number = u32::try_from(key >> 3).ok()?;
    let skipped = match key & 7 {
        0 => varint(bytes).map(|_| 0)?,
        1 => 8,
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let (inner, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            return Some((number, Field::Delimited(inner)));
        }
        5 => 4,
        // Groups, which none of our messages have.
        _ => return None,
    };
    *bytes = bytes.get(skipped..)?;
    Some((number, Field::Other))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    prost::encoding::decode_varint(bytes).ok()
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use serde_json::json;

    use super::*;
    use crate::temporal::common::v1::{Payload, Payloads};
    use crate::temporal::workflowservice::v1::StartWorkflowExecutionRequest;

    #[test]
    fn values_are_counted_as_they_are_parsed() {
        for (text, values, depth) in [
            ("", 0, 0),
            ("0", 1, 0),
            ("[]", 1, 1),
            ("[0,0,0]", 4, 1),
            (r#"{"a": "b\\\",[", "c": {"d": [null]}}"#, 8, 3),
            (r#""a \" [ { , ""#, 1, 0),
            ("[[[[", 4, 4),
            ("]]]]", 0, 0),
        ] {
            let found = measure(text.as_bytes());
            assert_eq!((found.values, found.depth), (values, depth), "{text}");
        }
    }

    #[test]
    fn messages_are_counted_with_the_json_in_their_payloads() {
        let payload = Payload { data: json!([1, 2, 3]).to_string().into(), ..Payload::default() };
        let request = StartWorkflowExecutionRequest {
            workflow_id: "w".to_owned(),
            input: Some(Payloads { payloads: vec![payload; 10] }),
            ..StartWorkflowExecutionRequest::default()
        };
        let descriptor = super::super::descriptor::<StartWorkflowExecutionRequest>();
        let bytes = request.encode_to_vec();
        let found = measure_message(&descriptor, &bytes);
        // The request, the list and its payloads.
        assert_eq!((found.messages, found.depth), (12, 3));
        // The id, the list, its payloads, their data, and four values in each.
        assert_eq!(found.values, 1 + 1 + 10 + 10 + 40);
        for end in 0..bytes.len() {
            assert!(measure_message(&descriptor, &bytes[..end]).messages <= 12);
        }
    }
}
