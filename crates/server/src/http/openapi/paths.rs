//! The paths of the document, with their parameters.

use std::collections::{HashMap, HashSet};

use perennial_proto::comment;
use perennial_proto::prost_reflect::{Cardinality, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

use super::super::routes::{Body, FieldPath, Route, RouteTable};
use super::schema::Schemas;

/// Nesting of messages up to which fields become query parameters.
const DEPTH_MAX: usize = 4;

pub(super) fn tags() -> Value {
    json!([
        { "name": "WorkflowService", "description": "Temporal's: workflows, schedules, namespaces" },
        { "name": "OperatorService", "description": "Temporal's: search attributes, clusters" },
        { "name": "ScheduleService", "description": "Perennial's own: what Temporal's can't say of schedules" },
    ])
}

pub(super) fn described(table: &RouteTable, schemas: &mut Schemas) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    // The paths below /api/v1 are preferred, so their operations get the names without a number.
    let (current, older): (Vec<_>, Vec<_>) =
        table.routes.iter().partition(|route| route.template.starts_with("/api/v1/"));
    for route in current.into_iter().chain(older) {
        let name = format!("{}_{}", route.rpc.parent_service().name(), route.rpc.name());
        let count = names.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name}{count}") };
        let path = paths.entry(template(route)).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation(route, name, schemas);
    }
    paths.insert("/api/schedules/{schedule_id}/history".to_owned(), schedule_history());
    paths.sort_keys();
    Value::Object(paths)
}

/// The path in the document. A variable is named after its last field: many tools allow no dots, and paths that differ
/// only in the names of variables are the same.
pub(super) fn template(route: &Route) -> String {
    let mut names = variable_names(route).into_iter();
    let segments = route.template.split('/').map(|segment| {
        let name = if segment.starts_with('{') { names.next() } else { None };
        name.map_or_else(|| segment.to_owned(), |name| format!("{{{name}}}"))
    });
    segments.collect::<Vec<_>>().join("/")
}

fn variable_names(route: &Route) -> Vec<String> {
    let last = |path: &FieldPath| path.last().map_or("", |field| field.name()).to_owned();
    let short: Vec<_> = route.variables.iter().map(last).collect();
    let is_unique = short.iter().collect::<HashSet<_>>().len() == short.len();
    if is_unique {
        return short;
    }
    let whole = |path: &FieldPath| {
        path.iter().map(|field| field.name().to_owned()).collect::<Vec<_>>().join("_")
    };
    route.variables.iter().map(whole).collect()
}

fn operation(route: &Route, name: String, schemas: &mut Schemas) -> Value {
    let mut operation = json!({
        "operationId": name,
        "tags": [route.rpc.parent_service().name()],
        "parameters": parameters(route, schemas),
        "responses": {
            "200": {
                "description": "Done",
                "content": { "application/json": { "schema": schemas.message(&route.rpc.output()) } },
            },
            "default": refused(schemas),
        },
    });
    if let Some(comment) = comment(route.rpc.full_name()) {
        operation["description"] = comment.into();
    }
    let body = match &route.body {
        Body::None => None,
        Body::Message => Some(schemas.message(&route.rpc.input())),
        Body::Field(field) => Some(schemas.field(field)),
    };
    if let Some(schema) = body {
        operation["requestBody"] =
            json!({ "content": { "application/json": { "schema": schema } } });
    }
    operation
}

fn refused(schemas: &mut Schemas) -> Value {
    json!({
        "description": "Refused",
        "content": { "application/json": { "schema": schemas.status() } },
    })
}

fn parameters(route: &Route, schemas: &mut Schemas) -> Vec<Value> {
    let mut parameters: Vec<Value> = variable_names(route)
        .into_iter()
        .zip(&route.variables)
        .map(|(name, path)| {
            let kind = path.last().map_or(Kind::String, FieldDescriptor::kind);
            let mut schema = schemas.single(&kind);
            if kind == Kind::String {
                schema["minLength"] = json!(1);
            }
            json!({ "name": name, "in": "path", "required": true, "schema": schema })
        })
        .collect();
    if !matches!(route.body, Body::Message) {
        let bound: Vec<String> = route.variables.iter().map(|path| dotted(path)).collect();
        let mut query = Query { bound, schemas, parameters: &mut parameters };
        query.add(&route.rpc.input(), &mut Vec::new());
    }
    parameters
}

struct Query<'a> {
    /// Fields that are in the path.
    bound: Vec<String>,
    schemas: &'a mut Schemas,
    parameters: &'a mut Vec<Value>,
}

impl Query<'_> {
    fn add(&mut self, message: &MessageDescriptor, path: &mut Vec<FieldDescriptor>) {
        for field in message.fields() {
            path.push(field.clone());
            let name = dotted(path);
            if !self.bound.contains(&name) {
                self.add_field(&field, name, path);
            }
            path.pop();
        }
    }

    fn add_field(
        &mut self,
        field: &FieldDescriptor,
        name: String,
        path: &mut Vec<FieldDescriptor>,
    ) {
        match field.kind() {
            _ if field.is_map() => {}
            Kind::Message(inner) if inner.package_name() != "google.protobuf" => {
                if field.cardinality() != Cardinality::Repeated && path.len() < DEPTH_MAX {
                    self.add(&inner, path);
                }
            }
            _ => {
                let schema = self.schemas.field(field);
                let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
                if let Some(comment) = comment(field.full_name()) {
                    parameter["description"] = comment.into();
                }
                self.parameters.push(parameter);
            }
        }
    }
}

fn dotted(path: &[FieldDescriptor]) -> String {
    path.iter().map(|field| field.json_name()).collect::<Vec<_>>().join(".")
}

/// The only path that belongs to no RPC.
fn schedule_history() -> Value {
    let text = json!({ "type": "string" });
    let nullable = json!({ "type": "string", "nullable": true });
    let whole = json!({ "type": "integer", "minimum": 0 });
    let event = json!({
        "type": "object",
        "required": ["sequence", "event_type", "recorded_at", "payload"],
        "properties": {
            "sequence": whole, "event_type": text, "recorded_at": { "type": "string", "format": "date-time" },
            "workflow_instance_id": nullable, "workflow_run_id": nullable,
            "payload": { "type": "object" },
        },
    });
    let page = json!({
        "type": "object",
        "required": ["schedule_id", "namespace", "events", "has_more", "next_cursor"],
        "properties": {
            "schedule_id": text, "namespace": text, "events": { "type": "array", "items": event },
            "has_more": { "type": "boolean" },
            "next_cursor": { "type": "integer", "nullable": true },
        },
    });
    json!({ "get": {
        "operationId": "ScheduleHistory",
        "tags": ["ScheduleService"],
        "summary": "What happened to a schedule, as Durable Workflow's API tells it",
        "parameters": [
            { "name": "schedule_id", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } },
            { "name": "X-Namespace", "in": "header", "schema": { "type": "string", "default": "default" } },
            { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": 500, "default": 100 } },
            { "name": "after_sequence", "in": "query", "schema": whole },
        ],
        "responses": {
            "200": { "description": "A page of it", "content": { "application/json": { "schema": page } } },
            "default": {
                "description": "Refused",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Status" } } },
            },
        },
    } })
}
