//! Converts JSON to messages.

use std::cell::Cell;

use prost::Message as _;
use prost::bytes::Bytes;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use serde_json::{Map, Value as Json};

use super::{
    ANY, DURATION, Error, NAME_BYTES_MAX, PAYLOAD, PAYLOADS, Payloads, duration, is_well_known,
    is_wrapper, payload, scalar, short,
};

/// Converts JSON to a message of this descriptor.
pub fn message(
    descriptor: MessageDescriptor,
    json: &Json,
    payloads: Payloads,
) -> Result<DynamicMessage, Error> {
    bounded_message(descriptor, json, payloads, usize::MAX)
}

/// The same, with a limit on the number of nested messages. Each takes a kilobyte or more, even if it is a single digit in
/// JSON. JSON with more messages is refused before they are built.
pub fn bounded_message(
    descriptor: MessageDescriptor,
    json: &Json,
    payloads: Payloads,
    messages_max: usize,
) -> Result<DynamicMessage, Error> {
    Reader { payloads, messages_max, left: Cell::new(messages_max) }.message(descriptor, json)
}

/// Options of the conversion, and the number of messages that remain.
pub(super) struct Reader {
    payloads: Payloads,
    messages_max: usize,
    left: Cell<usize>,
}

impl Reader {
    pub(super) fn left(&self) -> usize {
        self.left.get()
    }

    /// Counts messages before they are built.
    pub(super) fn count(&self, messages: usize) -> Result<(), Error> {
        match self.left.get().checked_sub(messages) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(Error::new(format!(
                "the whole has more than {} messages, and each value of a list of payloads is one; \
                 put values together, as in `[[1, 2]]`, or call over gRPC",
                self.messages_max
            ))),
        }
    }

    pub(super) fn message(
        &self,
        descriptor: MessageDescriptor,
        json: &Json,
    ) -> Result<DynamicMessage, Error> {
        self.count(1)?;
        match (descriptor.full_name(), self.payloads) {
            (PAYLOAD, Payloads::Shorthand) => return payload::expand(self, descriptor, json),
            (PAYLOADS, Payloads::Shorthand) => {
                if let Json::Array(values) = json {
                    return payload::expand_all(self, descriptor, values);
                }
            }
            (ANY, _) => return any(self, descriptor, json),
            _ => {}
        }
        if let Some(value) = descriptor.get_field(1).filter(|_| is_wrapper(&descriptor)) {
            let mut message = DynamicMessage::new(descriptor);
            message.set_field(&value, single(self, &value.kind(), json)?);
            return Ok(message);
        }
        if is_well_known(&descriptor) {
            return well_known(descriptor, json);
        }
        let Json::Object(object) = json else {
            return Err(Error::expected("an object", json));
        };
        fields(self, descriptor, object.iter())
    }
}

fn fields<'a>(
    reader: &Reader,
    descriptor: MessageDescriptor,
    entries: impl Iterator<Item = (&'a String, &'a Json)>,
) -> Result<DynamicMessage, Error> {
    let mut message = DynamicMessage::new(descriptor.clone());
    for (name, json) in entries {
        let field = descriptor
            .get_field_by_json_name(name)
            .or_else(|| descriptor.get_field_by_name(name))
            .ok_or_else(|| unknown_field(&descriptor, name))?;
        if json.is_null() && !takes_null(&field) {
            continue;
        }
        if message.has_field(&field) {
            return Err(Error::new("given twice, under two names").in_field(name));
        }
        let others = field.containing_oneof();
        if let Some(other) =
            others.iter().flat_map(|one| one.fields()).find(|other| message.has_field(other))
        {
            let problem = format!("can't be given together with `{}`", other.json_name());
            return Err(Error::new(problem).in_field(name));
        }
        let value = self::field(reader, &field, json).map_err(|error| error.in_field(name))?;
        message.set_field(&field, value);
    }
    Ok(message)
}

/// Whether `null` is a value of the field, as opposed to its absence.
fn takes_null(field: &FieldDescriptor) -> bool {
    match field.kind() {
        Kind::Message(message) => message.full_name() == "google.protobuf.Value",
        Kind::Enum(descriptor) => descriptor.full_name() == "google.protobuf.NullValue",
        _ => false,
    }
}

fn field(reader: &Reader, field: &FieldDescriptor, json: &Json) -> Result<Value, Error> {
    let kind = field.kind();
    if field.is_list() {
        let Json::Array(values) = json else {
            return Err(Error::expected("an array", json));
        };
        let mut list = Vec::with_capacity(values.len());
        for (index, json) in values.iter().enumerate() {
            list.push(single(reader, &kind, json).map_err(|error| error.at(index))?);
        }
        Ok(Value::List(list))
    } else if let Kind::Message(entry) = &kind
        && field.is_map()
    {
        let Json::Object(entries) = json else {
            return Err(Error::expected("an object", json));
        };
        let (key_kind, kind) =
            (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
        entries
            .iter()
            .map(|(key, json)| {
                let value = single(reader, &kind, json);
                let pair = map_key(&key_kind, key).and_then(|key| Ok((key, value?)));
                pair.map_err(|error| error.at(format_args!("{:?}", short(key))))
            })
            .collect::<Result<_, _>>()
            .map(Value::Map)
    } else {
        single(reader, &kind, json)
    }
}

fn single(reader: &Reader, kind: &Kind, json: &Json) -> Result<Value, Error> {
    match kind {
        Kind::Message(descriptor) => reader.message(descriptor.clone(), json).map(Value::Message),
        scalar => scalar::from_json(scalar, json),
    }
}

fn map_key(kind: &Kind, key: &str) -> Result<MapKey, Error> {
    let value = scalar::from_text(kind, key)?;
    value.into_map_key().ok_or_else(|| Error::new("can't be a key"))
}

fn well_known(descriptor: MessageDescriptor, json: &Json) -> Result<DynamicMessage, Error> {
    if descriptor.full_name() == DURATION
        && let Some(duration) = json.as_str().and_then(duration::iso_8601)
    {
        let mut message = DynamicMessage::new(descriptor);
        message.set_field_by_name("seconds", Value::I64(duration.seconds));
        message.set_field_by_name("nanos", Value::I32(duration.nanos));
        return Ok(message);
    }
    let expected = match descriptor.full_name() {
        "google.protobuf.Timestamp" => "a time such as \"2026-01-31T09:00:00Z\"",
        DURATION => "a duration such as \"90s\" or \"PT1M30S\"",
        "google.protobuf.FieldMask" => "names of fields separated by commas",
        "google.protobuf.Empty" => "an empty object",
        _ => "a value of that kind",
    };
    DynamicMessage::deserialize(descriptor, json).map_err(|_| Error::expected(expected, json))
}

fn any(
    reader: &Reader,
    descriptor: MessageDescriptor,
    json: &Json,
) -> Result<DynamicMessage, Error> {
    let Json::Object(object) = json else {
        return Err(Error::expected("an object with its type in `@type`", json));
    };
    let mut message = DynamicMessage::new(descriptor.clone());
    if object.is_empty() {
        return Ok(message);
    }
    let Some(Json::String(url)) = object.get("@type") else {
        return Err(Error::new("the type of the message is missing").in_field("@type"));
    };
    let inner = url
        .rsplit('/')
        .next()
        .and_then(|name| descriptor.parent_pool().get_message_by_name(name))
        .ok_or_else(|| Error::new(format!("{:?} isn't known", short(url))).in_field("@type"))?;
    let inner = if is_well_known(&inner) {
        let value = object.get("value").unwrap_or(&Json::Null);
        reader.message(inner, value).map_err(|error| error.in_field("value"))?
    } else if matches!(inner.full_name(), PAYLOAD | PAYLOADS) && object.contains_key("value") {
        let value = &object["value"];
        reader.message(inner, value).map_err(|error| error.in_field("value"))?
    } else {
        fields(reader, inner, without_type(object))?
    };
    message.set_field_by_name("type_url", Value::String(url.clone()));
    message.set_field_by_name("value", Value::Bytes(Bytes::from(inner.encode_to_vec())));
    Ok(message)
}

fn without_type(object: &Map<String, Json>) -> impl Iterator<Item = (&String, &Json)> {
    object.iter().filter(|(name, _)| *name != "@type")
}

/// The error for a field that the message doesn't have.
pub fn unknown_field(descriptor: &MessageDescriptor, name: &str) -> Error {
    // Comparing takes time in proportion to both lengths, and a long name is no typo of a field.
    let compared = descriptor.fields().filter(|_| name.len() <= NAME_BYTES_MAX);
    let near = compared
        .map(|field| (strsim::damerau_levenshtein(field.json_name(), name), field))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, field)| *distance <= field.json_name().len() / 3);
    let hint = near
        .map_or_else(String::new, |(_, field)| format!("; did you mean `{}`?", field.json_name()));
    Error::new(format!("{} has no such field{hint}", descriptor.name())).in_field(name)
}
