//! Shorthand payloads: a payload is written as the value it holds.

use prost_reflect::{DynamicMessage, MessageDescriptor, Value};
use serde_json::{Map, Value as Json};

use super::decode::{self, Reader};
use super::{Error, Payloads, encode, scalar};
use crate::temporal::common::v1::{Payload, Payloads as PayloadList};

const ENCODING: &str = "encoding";
const MESSAGE_TYPE: &str = "messageType";
const TYPE_KEY: &str = "_protoMessageType";
const JSON_PLAIN: &[u8] = b"json/plain";
const JSON_PROTOBUF: &[u8] = b"json/protobuf";
const BINARY_NULL: &[u8] = b"binary/null";

/// The shorthand of a payload; `None` if it has none.
pub(super) fn shorten(message: &DynamicMessage) -> Option<Json> {
    let payload: Payload = message.transcode_to().ok()?;
    shorten_one(&payload, message)
}

/// The shorthand of a list of payloads; `None` unless every payload has one.
pub(super) fn shorten_all(message: &DynamicMessage) -> Option<Json> {
    let Value::List(payloads) = message.get_field_by_name("payloads")?.into_owned() else {
        return None;
    };
    payloads
        .iter()
        .map(|payload| match payload {
            Value::Message(payload) => shorten(payload),
            _ => None,
        })
        .collect()
}

fn shorten_one(payload: &Payload, message: &DynamicMessage) -> Option<Json> {
    if !payload.external_payloads.is_empty() {
        return None;
    }
    let full = || encode::message(message, Payloads::Full);
    let encoding = payload.metadata.get(ENCODING)?.as_slice();
    match (encoding, payload.metadata.len()) {
        (BINARY_NULL, _) => Some(full()),
        (JSON_PLAIN, 1) => {
            let value = serde_json::from_slice(&payload.data).ok()?;
            // A value that would be read back differently is written in full.
            Some(if reads_as_itself(&value) { value } else { full() })
        }
        (JSON_PROTOBUF, 2) => {
            let message_type = payload.metadata.get(MESSAGE_TYPE)?.clone();
            let message_type =
                String::from_utf8(message_type).ok().filter(|name| !name.is_empty())?;
            let mut fields: Map<String, Json> = serde_json::from_slice(&payload.data).ok()?;
            if fields.contains_key(TYPE_KEY) {
                return Some(full());
            }
            fields.insert(TYPE_KEY.to_owned(), message_type.into());
            Some(Json::Object(fields))
        }
        _ => None,
    }
}

fn reads_as_itself(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Object(object) => {
            !object.contains_key(TYPE_KEY) && full_payload(object, usize::MAX).is_none()
        }
        _ => true,
    }
}

/// Converts a shorthand value to its payload.
pub(super) fn expand(
    reader: &Reader,
    descriptor: MessageDescriptor,
    json: &Json,
) -> Result<DynamicMessage, Error> {
    dynamic(descriptor, &payload(reader, json)?)
}

/// Converts shorthand values to their payloads.
pub(super) fn expand_all(
    reader: &Reader,
    descriptor: MessageDescriptor,
    values: &[Json],
) -> Result<DynamicMessage, Error> {
    reader.count(values.len())?;
    let mut list = PayloadList::default();
    for (index, json) in values.iter().enumerate() {
        list.payloads.push(payload(reader, json).map_err(|error| error.at(index))?);
    }
    dynamic(descriptor, &list)
}

fn dynamic(
    descriptor: MessageDescriptor,
    message: &impl prost::Message,
) -> Result<DynamicMessage, Error> {
    DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice())
        .map_err(|error| Error::new(error.to_string()))
}

fn payload(reader: &Reader, json: &Json) -> Result<Payload, Error> {
    let Json::Object(object) = json else {
        return Ok(if json.is_null() {
            holding(BINARY_NULL, Vec::new())
        } else {
            holding(JSON_PLAIN, json.to_string().into())
        });
    };
    if let Some(payload) = full_payload(object, reader.left()) {
        return Ok(payload);
    }
    let Some(message_type) = object.get(TYPE_KEY) else {
        return Ok(holding(JSON_PLAIN, json.to_string().into()));
    };
    let Json::String(message_type) = message_type else {
        return Err(Error::expected("the name of a message", message_type).in_field(TYPE_KEY));
    };
    let mut fields = object.clone();
    fields.shift_remove(TYPE_KEY);
    let mut payload = holding(JSON_PROTOBUF, Json::Object(fields).to_string().into());
    payload.metadata.insert(MESSAGE_TYPE.to_owned(), message_type.clone().into());
    Ok(payload)
}

fn holding(encoding: &[u8], data: Vec<u8>) -> Payload {
    Payload {
        metadata: [(ENCODING.to_owned(), encoding.to_vec())].into(),
        data,
        ..Payload::default()
    }
}

/// Parses the object as a full payload: its metadata has an encoding, and it has no unknown field.
fn full_payload(object: &Map<String, Json>, messages_max: usize) -> Option<Payload> {
    let encoding = object.get("metadata")?.get(ENCODING)?.as_str()?;
    let encoding = scalar::bytes(encoding)?;
    // Encodings contain a slash. Without this check, a plain value with any base64 text in this place would be
    // taken for a payload.
    if !encoding.contains(&b'/') || !encoding.is_ascii() {
        return None;
    }
    let descriptor = super::descriptor::<Payload>();
    let whole = Json::Object(object.clone());
    let read = decode::bounded_message(descriptor, &whole, Payloads::Full, messages_max);
    read.ok()?.transcode_to().ok()
}
