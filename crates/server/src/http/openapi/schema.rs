//! The schemas of messages.

use std::collections::BTreeMap;

use perennial_proto::prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use perennial_proto::{comment, descriptors};
use serde_json::{Map, Value, json};

/// The schemas of all messages that the document refers to.
#[derive(Default)]
pub(super) struct Schemas {
    /// By their names in the document.
    known: BTreeMap<String, (MessageDescriptor, Value)>,
}

impl Schemas {
    pub(super) fn described(self) -> Value {
        let schemas = self.known.into_iter().map(|(name, (_, schema))| (name, schema));
        Value::Object(schemas.collect())
    }

    /// The schema of errors.
    pub(super) fn status(&mut self) -> Value {
        match descriptors().get_message_by_name("google.rpc.Status") {
            Some(status) => self.message(&status),
            None => json!({ "type": "object" }),
        }
    }

    /// The schema of a field, with its comment from the `.proto` file.
    fn described_field(&mut self, field: &FieldDescriptor) -> Value {
        let mut schema = self.field(field);
        if let Some(comment) = comment(field.full_name()) {
            if schema.get("$ref").is_some() {
                // OpenAPI ignores everything beside a reference.
                schema = json!({ "allOf": [schema] });
            }
            schema["description"] = comment.into();
        }
        schema
    }

    pub(super) fn field(&mut self, field: &FieldDescriptor) -> Value {
        match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let value = self.single(&entry.map_entry_value_field().kind());
                json!({ "type": "object", "additionalProperties": value })
            }
            kind if field.is_list() => json!({ "type": "array", "items": self.single(&kind) }),
            kind => self.single(&kind),
        }
    }

    pub(super) fn single(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::String => json!({ "type": "string" }),
            Kind::Bytes => json!({ "type": "string", "format": "byte" }),
            Kind::Double => json!({ "type": "number", "format": "double" }),
            Kind::Float => json!({ "type": "number", "format": "float" }),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
                json!({ "type": "integer", "format": "int32" })
            }
            Kind::Uint32 | Kind::Fixed32 => {
                json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX })
            }
            // As text: many JSON parsers keep 53 bits.
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
                json!({ "type": "string", "format": "int64", "pattern": "^-?[0-9]{1,18}$" })
            }
            Kind::Uint64 | Kind::Fixed64 => {
                json!({ "type": "string", "format": "uint64", "pattern": "^[0-9]{1,18}$" })
            }
            Kind::Enum(descriptor) => {
                let names: Vec<_> =
                    descriptor.values().map(|value| value.name().to_owned()).collect();
                json!({ "type": "string", "enum": names })
            }
            Kind::Message(message) => self.message(message),
        }
    }

    pub(super) fn message(&mut self, message: &MessageDescriptor) -> Value {
        if let Some(schema) = known(message.full_name()) {
            return schema;
        }
        let name = self.name(message);
        if !self.known.contains_key(&name) {
            // Inserted before its fields are: a message may contain itself.
            self.known.insert(name.clone(), (message.clone(), Value::Null));
            let properties: Map<String, Value> = message
                .fields()
                .map(|field| (field.json_name().to_owned(), self.described_field(&field)))
                .collect();
            let mut schema = json!({ "type": "object", "properties": properties });
            if let Some(comment) = comment(message.full_name()) {
                schema["description"] = comment.into();
            }
            self.known.insert(name.clone(), (message.clone(), schema));
        }
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    /// The message's name within its package, or its full name if a message of another package has that name.
    fn name(&self, message: &MessageDescriptor) -> String {
        let full = message.full_name();
        let short = full
            .strip_prefix(message.package_name())
            .and_then(|name| name.strip_prefix('.'))
            .unwrap_or(full);
        match self.known.get(short) {
            Some((other, _)) if other != message => full.to_owned(),
            _ => short.to_owned(),
        }
    }
}

/// The schemas of messages with a JSON form of their own.
fn known(full_name: &str) -> Option<Value> {
    Some(match full_name {
        "temporal.api.common.v1.Payload" => {
            json!({ "description": "Any JSON, or a payload in full: metadata and data in base64" })
        }
        "temporal.api.common.v1.Payloads" => json!({
            "description": "Payloads: each is any JSON, or a payload in full",
            "anyOf": [
                { "type": "array", "items": {} },
                {
                    "type": "object",
                    "properties": { "payloads": { "type": "array", "items": {} } },
                },
            ],
        }),
        "google.protobuf.Any" => json!({
            "type": "object",
            "properties": { "@type": { "type": "string" } },
            "required": ["@type"],
            "additionalProperties": true,
        }),
        "google.protobuf.Timestamp" => json!({ "type": "string", "format": "date-time" }),
        "google.protobuf.Duration" => json!({
            "type": "string",
            "description": "In seconds, as in 90s or 0.5s",
            "pattern": "^-?[0-9]{1,11}(\\.[0-9]{1,9})?s$",
        }),
        "google.protobuf.FieldMask" => json!({
            "type": "string",
            "description": "Names of fields, separated by commas",
        }),
        "google.protobuf.Empty" | "google.protobuf.Struct" => json!({ "type": "object" }),
        "google.protobuf.Value" => json!({}),
        "google.protobuf.ListValue" => json!({ "type": "array", "items": {} }),
        "google.protobuf.BoolValue" => json!({ "type": "boolean", "nullable": true }),
        "google.protobuf.StringValue" | "google.protobuf.BytesValue" => {
            json!({ "type": "string", "nullable": true })
        }
        "google.protobuf.Int64Value" | "google.protobuf.UInt64Value" => {
            json!({ "type": "string", "format": "int64", "nullable": true })
        }
        "google.protobuf.Int32Value" | "google.protobuf.UInt32Value" => {
            json!({ "type": "integer", "nullable": true })
        }
        "google.protobuf.DoubleValue" | "google.protobuf.FloatValue" => {
            json!({ "type": "number", "nullable": true })
        }
        _ => return None,
    })
}
