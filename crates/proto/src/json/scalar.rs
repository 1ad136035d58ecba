//! Reads numbers, strings, bytes and enums from JSON.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use prost::bytes::Bytes;
use prost_reflect::{EnumDescriptor, Kind, Value};
use serde_json::Value as Json;

use super::{Error, NAME_BYTES_MAX, Payloads, decode};

/// Reads a value from plain text, as in a path or a query.
pub fn from_text(kind: &Kind, text: &str) -> Result<Value, Error> {
    let json = match (kind, text) {
        (Kind::Bool, "true") => Json::Bool(true),
        (Kind::Bool, "false") => Json::Bool(false),
        // An enum may be given by its number.
        (Kind::Enum(_), _) => {
            text.parse::<i32>().map_or_else(|_| Json::String(text.to_owned()), Json::from)
        }
        _ => Json::String(text.to_owned()),
    };
    match kind {
        // Times and durations are text too.
        Kind::Message(message) => {
            decode::message(message.clone(), &json, Payloads::Full).map(Value::Message)
        }
        scalar => from_json(scalar, &json),
    }
}

pub(super) fn from_json(kind: &Kind, json: &Json) -> Result<Value, Error> {
    let wrong = |expected| Error::expected(expected, json);
    match kind {
        Kind::Bool => json.as_bool().map(Value::Bool).ok_or_else(|| wrong("true or false")),
        Kind::String => match json {
            Json::String(text) => Ok(Value::String(text.clone())),
            _ => Err(wrong("text")),
        },
        Kind::Bytes => json
            .as_str()
            .and_then(bytes)
            .map(|bytes| Value::Bytes(Bytes::from(bytes)))
            .ok_or_else(|| wrong("bytes in base64")),
        Kind::Double => float(json).map(Value::F64).ok_or_else(|| wrong("a number")),
        Kind::Float => float(json)
            .map(|number| number as f32)
            // Too large for a `float`, unless infinity was written as text.
            .filter(|number| number.is_finite() || !json.is_number())
            .map(Value::F32)
            .ok_or_else(|| wrong("a number")),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => whole(json)
            .and_then(|number| i32::try_from(number).ok())
            .map(Value::I32)
            .ok_or_else(|| wrong("a whole number of 32 bits")),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => whole(json)
            .and_then(|number| i64::try_from(number).ok())
            .map(Value::I64)
            .ok_or_else(|| wrong("a whole number of 64 bits")),
        Kind::Uint32 | Kind::Fixed32 => whole(json)
            .and_then(|number| u32::try_from(number).ok())
            .map(Value::U32)
            .ok_or_else(|| wrong("a whole number of 32 bits, not negative")),
        Kind::Uint64 | Kind::Fixed64 => whole(json)
            .and_then(|number| u64::try_from(number).ok())
            .map(Value::U64)
            .ok_or_else(|| wrong("a whole number of 64 bits, not negative")),
        Kind::Enum(descriptor) => enum_number(descriptor, json),
        Kind::Message(message) => Err(wrong(message.name())),
    }
}

/// A whole number, as a JSON number or as text.
fn whole(json: &Json) -> Option<i128> {
    match json {
        Json::Number(number) => number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from))
            .or_else(|| number.as_f64().and_then(exactly)),
        Json::String(text) => text.parse().ok().or_else(|| text.parse().ok().and_then(exactly)),
        _ => None,
    }
}

/// `1.0` and `1e3` are whole numbers too.
fn exactly(number: f64) -> Option<i128> {
    // No field has more than 64 bits.
    (number.fract() == 0.0 && number.abs() < 2e19).then_some(number as i128)
}

fn float(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            text => text.parse().ok().filter(|number: &f64| number.is_finite()),
        },
        _ => None,
    }
}

/// Decodes base64 in either alphabet, with or without padding.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    let engine = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    engine.decode(text).ok()
}

/// Reads an enum by its full name, by the short name of older clients (`Running`), or by its number.
fn enum_number(descriptor: &EnumDescriptor, json: &Json) -> Result<Value, Error> {
    let number = match json {
        // No enum value has such a long name.
        Json::String(name) if name.len() > 2 * NAME_BYTES_MAX => None,
        Json::String(name) => descriptor
            .get_value_by_name(name)
            .or_else(|| descriptor.get_value_by_name(&full_name(descriptor, name)))
            .map(|value| value.number()),
        Json::Null if descriptor.full_name() == "google.protobuf.NullValue" => Some(0),
        json => whole(json).and_then(|number| i32::try_from(number).ok()),
    };
    number.map(Value::EnumNumber).ok_or_else(|| {
        let names: Vec<_> = descriptor.values().map(|value| value.name().to_owned()).collect();
        let names = if names.len() <= 12 { names.join(", ") } else { descriptor.name().to_owned() };
        Error::expected(&format!("one of {names}"), json)
    })
}

/// `TimedOut` of `WorkflowExecutionStatus` is `WORKFLOW_EXECUTION_STATUS_TIMED_OUT`.
fn full_name(descriptor: &EnumDescriptor, short: &str) -> String {
    format!("{}_{}", screaming(descriptor.name()), screaming(short))
}

fn screaming(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 8);
    let mut previous = '_';
    for letter in camel.chars() {
        if letter.is_ascii_uppercase()
            && (previous.is_ascii_lowercase() || previous.is_ascii_digit())
        {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
        previous = letter;
    }
    out
}
