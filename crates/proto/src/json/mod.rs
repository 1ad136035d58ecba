//! Messages as JSON: protobuf's own mapping, and payloads as people want to read them.
//!
//! Fields have their camel-case names, enums their full ones (`WORKFLOW_EXECUTION_STATUS_RUNNING`), 64-bit
//! numbers are text, what has its default is left out. It is what Temporal's HTTP API and command line write;
//! what they read is read, which is more: names of fields as the `.proto` files have them, and short names
//! of enums (`Running`).

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

/// How payloads stand in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payloads {
    /// One that holds JSON is that JSON; one that holds a protobuf message as JSON is that JSON with the
    /// message's name in `_protoMessageType`. Others are as in [`Payloads::Full`]. Reading, both are
    /// understood.
    Shorthand,
    /// As the message that they are: metadata and data in base64.
    Full,
}

/// A value that isn't what its field takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", self.place())]
pub struct Error {
    /// Where: `schedule.spec.interval[0].phase`; empty for the whole.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Writes a message of this crate.
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

/// Reads a message of this crate.
///
/// # Panics
/// If the message isn't one of this crate's [`descriptors`].
pub fn from_json<M: Message + Name + Default>(
    value: &Value,
    payloads: Payloads,
) -> Result<M, Error> {
    let dynamic = decode(descriptor::<M>(), value, payloads)?;
    // Nesting deeper than protobuf allows is the one thing that JSON can say and bytes can't.
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

    /// `expected` is what the field takes.
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

/// The longest name that is compared with known ones and repeated in full. The longest of a field has half of it.
const NAME_BYTES_MAX: usize = 80;

/// A name as errors repeat it: of a long one the beginning.
fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= NAME_BYTES_MAX {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("{}…", &name[..name.floor_char_boundary(NAME_BYTES_MAX)]))
}

/// Whether protobuf has a JSON form of its own for this message.
fn is_well_known(descriptor: &MessageDescriptor) -> bool {
    descriptor.package_name() == "google.protobuf"
}

/// Whether the message is there only so that a value can be absent.
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
