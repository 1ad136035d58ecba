//! Converts messages to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};
use serde_json::{Map, Value as Json};

use super::{ANY, PAYLOAD, PAYLOADS, Payloads, is_well_known, is_wrapper, payload};

/// Converts any message to JSON.
pub fn message(message: &DynamicMessage, payloads: Payloads) -> Json {
    let descriptor = message.descriptor();
    if payloads == Payloads::Shorthand {
        let short = match descriptor.full_name() {
            PAYLOAD => payload::shorten(message),
            PAYLOADS => payload::shorten_all(message),
            _ => None,
        };
        if let Some(short) = short {
            return short;
        }
    }
    if descriptor.full_name() == ANY {
        any(message, payloads)
    } else if let Some(value) = descriptor.get_field(1).filter(|_| is_wrapper(&descriptor)) {
        single(&value.kind(), &message.get_field(&value), payloads)
    } else if is_well_known(&descriptor) {
        // A time or duration outside protobuf's range has no text form: write its fields.
        serde_json::to_value(message)
            .unwrap_or_else(|_| Json::Object(fields(message, &descriptor, payloads)))
    } else {
        Json::Object(fields(message, &descriptor, payloads))
    }
}

fn fields(
    message: &DynamicMessage,
    descriptor: &MessageDescriptor,
    payloads: Payloads,
) -> Map<String, Json> {
    // In the order of the `.proto` file, which readers know.
    let declared = descriptor.descriptor_proto().field.iter();
    declared
        .filter_map(|field| descriptor.get_field(field.number().try_into().ok()?))
        .filter(|field| message.has_field(field))
        .map(|field| {
            let value = self::field(&field, &message.get_field(&field), payloads);
            (field.json_name().to_owned(), value)
        })
        .collect()
}

fn field(field: &FieldDescriptor, value: &Value, payloads: Payloads) -> Json {
    match value {
        Value::List(values) => {
            values.iter().map(|value| single(&field.kind(), value, payloads)).collect()
        }
        Value::Map(entries) => {
            let kind = match field.kind() {
                Kind::Message(entry) => entry.map_entry_value_field().kind(),
                scalar => scalar,
            };
            let mut entries: Vec<_> =
                entries.iter().map(|(key, value)| (key_text(key), value)).collect();
            // Protobuf maps have no order: sort the keys, so that equal messages give equal JSON.
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            let entries = entries.into_iter();
            Json::Object(
                entries.map(|(key, value)| (key, single(&kind, value, payloads))).collect(),
            )
        }
        value => single(&field.kind(), value, payloads),
    }
}

fn single(kind: &Kind, value: &Value, payloads: Payloads) -> Json {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::I32(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        // As text: many JSON parsers keep only 53 bits.
        Value::I64(value) => value.to_string().into(),
        Value::U64(value) => value.to_string().into(),
        Value::F32(value) => float(f64::from(*value), value.to_string().parse().ok()),
        Value::F64(value) => float(*value, Some(*value)),
        Value::String(value) => value.as_str().into(),
        Value::Bytes(value) => STANDARD.encode(value).into(),
        Value::EnumNumber(number) => match kind {
            Kind::Enum(descriptor) if descriptor.full_name() == "google.protobuf.NullValue" => {
                Json::Null
            }
            Kind::Enum(descriptor) => descriptor
                .get_value(*number)
                .map_or_else(|| (*number).into(), |value| value.name().into()),
            _ => (*number).into(),
        },
        Value::Message(message) => self::message(message, payloads),
        Value::List(_) | Value::Map(_) => Json::Null,
    }
}

/// `shortest` is the number with the fewest digits that has the same value.
fn float(value: f64, shortest: Option<f64>) -> Json {
    if value.is_finite() {
        shortest.unwrap_or(value).into()
    } else if value.is_nan() {
        "NaN".into()
    } else if value > 0.0 {
        "Infinity".into()
    } else {
        "-Infinity".into()
    }
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

/// Writes an `Any`: its fields next to its type. An unknown type is written as base64.
fn any(message: &DynamicMessage, payloads: Payloads) -> Json {
    let text = |name| match message.get_field_by_name(name).as_deref() {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    let bytes = match message.get_field_by_name("value").as_deref() {
        Some(Value::Bytes(bytes)) => bytes.clone(),
        _ => Default::default(),
    };
    let url = text("type_url");
    let inner = url
        .rsplit('/')
        .next()
        .and_then(|name| message.descriptor().parent_pool().get_message_by_name(name))
        .and_then(|descriptor| DynamicMessage::decode(descriptor, bytes.clone()).ok());

    let mut object = Map::new();
    object.insert("@type".to_owned(), url.into());
    match inner.map(|inner| (is_well_known(&inner.descriptor()), self::message(&inner, payloads))) {
        Some((false, Json::Object(fields))) => object.extend(fields),
        Some((_, value)) => drop(object.insert("value".to_owned(), value)),
        None => drop(object.insert("value".to_owned(), STANDARD.encode(&bytes).into())),
    }
    Json::Object(object)
}
