//! Writes audit events as JSON, in their documented format, which isn't protobuf's.

use prost_reflect::{DynamicMessage, Kind, ReflectMessage, Value};
use serde_json::{Map, Value as Json, json};

use super::{Payloads, descriptor, encode};
use crate::perennial::ScheduleEvent;

/// Converts an audit event of a schedule to JSON. Keys are the field names of the `.proto` file, 64-bit numbers are
/// numbers, and policies have their short names.
///
/// ```
/// use perennial_proto::json::audit_event;
/// use perennial_proto::perennial::{ScheduleDeleted, ScheduleEvent, schedule_event::Event};
///
/// let deleted = ScheduleDeleted { reason: "moved".into(), ..Default::default() };
/// let event = ScheduleEvent { sequence: 2, event: Some(Event::Deleted(deleted)), ..Default::default() };
/// let json = audit_event(&event);
/// assert_eq!(json["event_type"], "ScheduleDeleted");
/// assert_eq!(json["payload"]["reason"], "moved");
/// ```
pub fn audit_event(event: &ScheduleEvent) -> Json {
    let mut dynamic = DynamicMessage::new(descriptor::<ScheduleEvent>());
    dynamic
        .transcode_from(event)
        .expect("the message is read by the descriptor it was generated from");
    audit_event_of(&dynamic)
}

/// Converts an audit event that is a dynamic message.
pub fn audit_event_of(event: &DynamicMessage) -> Json {
    let descriptor = event.descriptor();
    let kind = descriptor
        .oneofs()
        .flat_map(|one| one.fields().collect::<Vec<_>>())
        .find(|field| event.has_field(field));
    let inner = kind.as_ref().map(|field| event.get_field(field).into_owned());
    let inner = inner.as_ref().and_then(Value::as_message);
    let payload = inner.map(fields).unwrap_or_default();
    let fields = fields(event);
    json!({
        "sequence": fields.get("sequence"),
        "event_type": inner.map(|inner| inner.descriptor().name().to_owned()),
        "recorded_at": fields.get("recorded_at"),
        "workflow_instance_id": payload.get("workflow_instance_id"),
        "workflow_run_id": payload.get("workflow_run_id"),
        "payload": payload,
    })
}

/// The fields of one of our messages, by their names in the `.proto` file.
fn fields(message: &DynamicMessage) -> Map<String, Json> {
    let fields = message.fields().map(|(field, value)| {
        let json = match (value, field.kind()) {
            (Value::I64(number), _) => (*number).into(),
            (Value::EnumNumber(number), Kind::Enum(kind)) => {
                let name = kind.get_value(*number).map(|value| value.name().to_lowercase());
                let prefix = "schedule_overlap_policy_";
                name.map_or_else(
                    || (*number).into(),
                    |name| name.strip_prefix(prefix).unwrap_or(&name).into(),
                )
            }
            (Value::List(texts), Kind::String) => {
                texts.iter().filter_map(Value::as_str).collect::<Json>()
            }
            (Value::Message(inner), _) if inner.descriptor().package_name() == "perennial.v1" => {
                Json::Object(self::fields(inner))
            }
            (Value::Message(inner), _) => encode(inner, Payloads::Shorthand),
            (Value::String(text), _) => text.as_str().into(),
            (Value::Bool(value), _) => (*value).into(),
            (Value::I32(number), _) => (*number).into(),
            _ => Json::Null,
        };
        (field.name().to_owned(), json)
    });
    fields.collect()
}
