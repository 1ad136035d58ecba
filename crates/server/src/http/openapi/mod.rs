//! The OpenAPI document of the API, made from the descriptors.

mod paths;
mod schema;

use std::sync::LazyLock;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use self::schema::Schemas;
use super::routes::RouteTable;
use super::{HttpResponse, full};

/// The document at `path`, if there is one.
pub(super) fn document(path: &str) -> Option<HttpResponse> {
    // The text is cached. The tree it is made from takes many times the memory.
    static JSON: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(described().to_string()));
    static YAML: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(yaml(&described())));
    let (text, content_type) = match path {
        "/openapi.json" | "/api/v1/openapi.json" => (&*JSON, "application/json"),
        "/openapi.yaml" | "/api/v1/openapi.yaml" => (&*YAML, "application/yaml"),
        _ => return None,
    };
    let mut response = Response::new(full(text.clone()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Some(response)
}

fn yaml(document: &Value) -> String {
    serde_saphyr::to_string(document).expect("every JSON value can be written as YAML")
}

fn described() -> Value {
    let mut schemas = Schemas::default();
    let paths = paths::described(RouteTable::get(), &mut schemas);
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Perennial",
            "description": "Durable workflows and schedules: Temporal's API, and what Perennial has beyond \
                it. Payloads that hold JSON are that JSON; `?noPayloadShorthand` shows them in full.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "tags": paths::tags(),
        "paths": paths,
        "components": { "schemas": schemas.described() },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn references(value: &Value, found: &mut HashSet<String>) {
        match value {
            Value::Object(object) => {
                if let Some(Value::String(reference)) = object.get("$ref") {
                    found.insert(reference.clone());
                }
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_route_is_described_and_every_reference_leads_somewhere() {
        let document = described();
        for route in &RouteTable::get().routes {
            let method = route.method.as_str().to_lowercase();
            let operation = &document["paths"][paths::template(route)][&method];
            assert!(operation.is_object(), "{method} {}", route.template);
        }
        let mut found = HashSet::new();
        references(&document, &mut found);
        assert!(found.len() > 100, "{}", found.len());
        for reference in found {
            let place = reference.strip_prefix('#').expect("references stay in the document");
            assert!(document.pointer(place).is_some(), "{reference}");
        }
    }

    #[test]
    fn yaml_and_json_are_the_same_document() {
        let document = described();
        let read: Value = serde_saphyr::from_str(&yaml(&document)).unwrap();
        assert!(read == document, "the YAML document differs");
    }

    #[test]
    fn paths_differ_by_more_than_the_names_of_their_variables() {
        let document = described();
        let mut shapes = HashSet::new();
        for path in document["paths"].as_object().unwrap().keys() {
            let segments = path.split('/');
            let shape: Vec<_> = segments
                .map(|segment| if segment.starts_with('{') { "{}" } else { segment })
                .collect();
            assert!(shapes.insert(shape.join("/")), "{path}");
        }
    }

    #[test]
    fn operations_have_names_of_their_own() {
        let document = described();
        let mut names = HashSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let name = operation["operationId"].as_str().unwrap();
                assert!(names.insert(name.to_owned()), "{method} {path}: {name}");
            }
        }
    }
}
