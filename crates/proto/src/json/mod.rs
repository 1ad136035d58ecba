//! Converts messages to JSON and back: protobuf's JSON mapping, with shorthand payloads.
//!
//! Field names are in camel case, enums have their full names (`WORKFLOW_EXECUTION_STATUS_RUNNING`), 64-bit
//! numbers are text, and fields with their default value are left out. This is the format of Temporal's HTTP API
//! and command line. Reading also accepts the field names of the `.proto` files and short enum names
//! (`Running`), as those do. docs/decisions/0019-json-mapping.md has the whole mapping.

mod audit;
mod decode;
mod duration;
mod encode;
mod measure;
mod payload;
mod scalar;

use std::borrow::Cow;

use prost::{Message, Name};
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde_json::Value;

pub use audit::{audit_event, audit_event_of};
pub use decode::{bounded_message as decode_at_most, message as decode, unknown_field};
pub use encode::message as encode;
pub use measure::{Measure, measure, measure_message};
pub use scalar::from_text;

use crate::descriptors;

/// The JSON form of payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payloads {
    /// A payload that holds JSON is written as that JSON. A payload that holds a protobuf message as JSON is
    /// written as that JSON, with the message's name in `_protoMessageType`. Others are as in
    /// [`Payloads::Full`]. Reading accepts both forms.
    Shorthand,
    /// The message itself: metadata and data in base64.
    Full,
}

/// A JSON value that doesn't fit its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", self.place())]
pub struct Error {
    /// Path of the field: `schedule.spec.interval[0].phase`; empty for the whole message.
    pub path: String,
    /// What is wrong.
    pub problem: String,
}

/// Converts a message of this crate to JSON.
///
/// ```
/// use perennial_proto::json::{Payloads, to_json};
/// use perennial_proto::temporal::common::v1::WorkflowExecution;
///
/// let execution = WorkflowExecution { workflow_id: "w".into(), run_id: String::new() };
/// assert_eq!(to_json(&execution, Payloads::Shorthand), serde_json::json!({"workflowId": "w"}));
/// ```
///
/// # Panics
/// If the message isn't one of this crate's [`descriptors`].
pub fn to_json<M: Message + Name>(message: &M, payloads: Payloads) -> Value {
    let mut dynamic = DynamicMessage::new(descriptor::<M>());
    dynamic
        .transcode_from(message)
        .expect("the message is read by the descriptor it was generated from");
    encode(&dynamic, payloads)
}

/// Converts JSON to a message of this crate.
///
/// # Panics
/// If the message isn't one of this crate's [`descriptors`].
pub fn from_json<M: Message + Name + Default>(
    value: &Value,
    payloads: Payloads,
) -> Result<M, Error> {
    let dynamic = decode(descriptor::<M>(), value, payloads)?;
    // This fails only if the nesting is deeper than protobuf allows.
    dynamic.transcode_to().map_err(|error| Error::new(error.to_string()))
}

fn descriptor<M: Name>() -> MessageDescriptor {
    descriptors()
        .get_message_by_name(&M::full_name())
        .unwrap_or_else(|| panic!("{} isn't a message of perennial-proto", M::full_name()))
}

impl Error {
    fn new(problem: impl Into<String>) -> Self {
        Self { path: String::new(), problem: problem.into() }
    }

    /// `expected` describes the values that the field accepts.
    fn expected(expected: &str, found: &Value) -> Self {
        let found = match found {
            Value::Null => "null".to_owned(),
            Value::Bool(_) | Value::Number(_) => short(&found.to_string()).into_owned(),
            Value::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
            Value::String(_) => "a long text".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        Self::new(format!("expected {expected}, found {found}"))
    }

    fn in_field(self, name: &str) -> Self {
        let name = &short(name);
        let path = match self.path.as_str() {
            "" => name.to_string(),
            inner if inner.starts_with('[') => format!("{name}{inner}"),
            inner => format!("{name}.{inner}"),
        };
        Self { path, ..self }
    }

    fn at(self, index: impl std::fmt::Display) -> Self {
        let path = match self.path.as_str() {
            inner if inner.is_empty() || inner.starts_with('[') => format!("[{index}]{inner}"),
            inner => format!("[{index}].{inner}"),
        };
        Self { path, ..self }
    }

    fn place(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!("`{}`: ", self.path) }
    }
}

/// Longest name that is compared with known names and quoted in full. The longest field name has half of it.
const NAME_BYTES_MAX: usize = 80;

/// Shortens a name for an error message.
fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= NAME_BYTES_MAX {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("{}…", &name[..name.floor_char_boundary(NAME_BYTES_MAX)]))
}

/// Whether protobuf defines a special JSON form for this message.
fn is_well_known(descriptor: &MessageDescriptor) -> bool {
    descriptor.package_name() == "google.protobuf"
}

/// Whether the message only wraps a value, so that the value can be absent.
fn is_wrapper(descriptor: &MessageDescriptor) -> bool {
    is_well_known(descriptor)
        && descriptor.name().ends_with("Value")
        && !matches!(descriptor.name(), "Value" | "ListValue")
}

const ANY: &str = "google.protobuf.Any";
const DURATION: &str = "google.protobuf.Duration";
const PAYLOAD: &str = "temporal.api.common.v1.Payload";
const PAYLOADS: &str = "temporal.api.common.v1.Payloads";

#[cfg(test)]
mod tests;
