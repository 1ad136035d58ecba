//! Decodes an HTTP request into the message of its RPC, from path, query and body.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;
use perennial_proto::json::{self, Payloads};
use perennial_proto::prost_reflect::prost::Message;
use perennial_proto::prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage, Value,
};

use super::response::PRETTY;
use super::response::WITHOUT_SHORTHAND;
use super::routes::{Body, FieldPath, Route, field_path};
use super::transcode::MESSAGES_MAX;

/// Why a request can't be decoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the body isn't JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("the body: {0}")]
    Body(json::Error),
    #[error("the path: `{name}`: {}", .error.problem)]
    Path { name: String, error: json::Error },
    #[error("the query: {0}")]
    Query(String),
}

/// The RPC's message in a request, as bytes.
pub(super) fn message(
    route: &Route,
    variables: &[String],
    head: &Parts,
    body: &[u8],
) -> Result<Bytes, Error> {
    let payloads = body_payloads(&head.headers);
    let mut message = match &route.body {
        Body::None => DynamicMessage::new(route.rpc.input()),
        Body::Message => match parsed(body)? {
            Some(json) => decoded(route.rpc.input(), &json, payloads)?,
            None => DynamicMessage::new(route.rpc.input()),
        },
        Body::Field(field) => {
            let mut message = DynamicMessage::new(route.rpc.input());
            if let (Some(json), Kind::Message(inner)) = (parsed(body)?, field.kind()) {
                let value = decoded(inner, &json, payloads)?;
                message.set_field(field, Value::Message(value));
            }
            message
        }
    };
    for (name, text) in query(head.uri.query().unwrap_or_default())? {
        if name == PRETTY || name == WITHOUT_SHORTHAND {
            continue;
        }
        if matches!(route.body, Body::Message) {
            return Err(Error::Query(format!("`{name}`: fields are given in the body here")));
        }
        fill_from_query(&mut message, &name, &text)?;
    }
    for (path, text) in route.variables.iter().zip(variables) {
        let field = path.last().expect("a path of fields has at least one");
        let value = json::from_text(&field.kind(), text)
            .map_err(|error| Error::Path { name: dotted(path), error })?;
        set(&mut message, path, value);
    }
    Ok(message.encode_to_vec().into())
}

fn decoded(
    descriptor: MessageDescriptor,
    json: &serde_json::Value,
    payloads: Payloads,
) -> Result<DynamicMessage, Error> {
    json::decode_at_most(descriptor, json, payloads, MESSAGES_MAX).map_err(Error::Body)
}

fn parsed(body: &[u8]) -> Result<Option<serde_json::Value>, Error> {
    // An empty body is an empty message, as from `curl -X POST`.
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(body).map(Some).map_err(Error::NotJson)
}

fn body_payloads(headers: &HeaderMap) -> Payloads {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match content_type {
        Some(content_type) if content_type.contains("+no-payload-shorthand") => Payloads::Full,
        _ => Payloads::Shorthand,
    }
}

/// The names and values of a query.
pub(super) fn query(query: &str) -> Result<Vec<(String, String)>, Error> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((unescaped(name)?, unescaped(text)?))
        })
        .collect()
}

fn unescaped(text: &str) -> Result<String, Error> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| Error::Query(format!("`{text}` isn't UTF-8")))
}

fn fill_from_query(message: &mut DynamicMessage, name: &str, text: &str) -> Result<(), Error> {
    let wrong = |problem: String| Error::Query(format!("`{name}`: {problem}"));
    let path = field_path(&message.descriptor(), name).map_err(|error| wrong(error.problem))?;
    let field = path.last().expect("a path of fields has at least one");
    if field.is_map() {
        return Err(wrong("it can't be given in a query".to_owned()));
    }
    let kind = field.kind();
    // An unescaped plus sign of base64 was decoded as a space.
    let text = if kind == Kind::Bytes { text.replace(' ', "+") } else { text.to_owned() };
    let value = json::from_text(&kind, &text).map_err(|error| match &kind {
        Kind::Message(inner) if inner.package_name() != "google.protobuf" => {
            wrong("its fields are given one by one, as in `execution.runId`".to_owned())
        }
        _ => wrong(error.problem),
    })?;
    if field.is_list() {
        push(message, &path, value);
        return Ok(());
    }
    if is_set(message, &path) {
        return Err(wrong(
            "it is given twice, or together with another field of its oneof".to_owned(),
        ));
    }
    set(message, &path, value);
    Ok(())
}

/// Sets the field at a path.
fn set(message: &mut DynamicMessage, path: &[FieldDescriptor], value: Value) {
    match path {
        [] => {}
        [field] => message.set_field(field, value),
        [field, rest @ ..] => {
            if let Some(inner) = message.get_field_mut(field).as_message_mut() {
                set(inner, rest, value);
            }
        }
    }
}

/// Adds to the list at a path.
fn push(message: &mut DynamicMessage, path: &[FieldDescriptor], value: Value) {
    match path {
        [] => {}
        [field] => {
            if let Some(values) = message.get_field_mut(field).as_list_mut() {
                values.push(value);
            }
        }
        [field, rest @ ..] => {
            if let Some(inner) = message.get_field_mut(field).as_message_mut() {
                push(inner, rest, value);
            }
        }
    }
}

/// Whether the field at a path, or another of its `oneof`, already has a value.
fn is_set(message: &DynamicMessage, path: &[FieldDescriptor]) -> bool {
    match path {
        [] => false,
        [field] => match field.containing_oneof() {
            Some(one) => one.fields().any(|field| message.has_field(&field)),
            None => message.has_field(field),
        },
        [field, rest @ ..] => {
            message.get_field(field).as_message().is_some_and(|inner| is_set(inner, rest))
        }
    }
}

fn dotted(path: &FieldPath) -> String {
    path.iter().map(|field| field.json_name()).collect::<Vec<_>>().join(".")
}

/// A header with this prefix stands for the gRPC metadata of the rest of its name, as in gRPC gateways.
const METADATA_PREFIX: &str = "grpc-metadata-";

/// The headers that hold credentials.
pub(super) const CREDENTIALS: &[&str] = &["authorization", "grpc-metadata-authorization"];

/// A header of a request, or of its gRPC metadata.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = match headers.get(name) {
        Some(value) => value,
        None => headers.get(format!("{METADATA_PREFIX}{name}"))?,
    };
    value.to_str().ok()
}
