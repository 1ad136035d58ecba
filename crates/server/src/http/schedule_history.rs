//! `GET /api/schedules/{id}/history`: the audit stream of a schedule, in the format of Durable Workflow's API.
//!
//! The header `X-Namespace` names the namespace.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;
use perennial_proto::descriptors;
use perennial_proto::json;
use perennial_proto::prost_reflect::prost::Message;
use perennial_proto::prost_reflect::{DynamicMessage, Value};
use serde_json::{Value as Json, json};
use tonic::Status;

use super::request;
use super::response::{self, Format};
use super::{HttpApi, HttpResponse};
use crate::call_context::CallContext;

/// The schedule id in `path`, if it is the path of a history.
pub(super) fn schedule_id(path: &str) -> Option<String> {
    let id = path.strip_prefix("/api/schedules/")?.strip_suffix("/history")?;
    let id = percent_decode_str(id).decode_utf8().ok()?;
    (!id.is_empty()).then(|| id.into_owned())
}

/// Responds with a page of the history.
pub(super) async fn respond(
    api: &HttpApi,
    schedule_id: String,
    head: &Parts,
    context: CallContext,
    format: Format,
) -> HttpResponse {
    match page(api, schedule_id, head, context, format).await {
        Ok(page) => response::json(StatusCode::OK, page, format),
        Err(status) => response::refusal(&status, format),
    }
}

async fn page(
    api: &HttpApi,
    schedule_id: String,
    head: &Parts,
    context: CallContext,
    format: Format,
) -> Result<Bytes, Status> {
    let namespace = head.headers.get("x-namespace").map_or(Ok("default"), |name| {
        name.to_str().map_err(|_| Status::invalid_argument("X-Namespace isn't text"))
    })?;
    let rpc = descriptors()
        .get_service_by_name("perennial.v1.ScheduleService")
        .and_then(|service| service.methods().find(|rpc| rpc.name() == "ListScheduleEvents"))
        .ok_or_else(|| Status::internal("ListScheduleEvents isn't described"))?;

    let mut request = DynamicMessage::new(rpc.input());
    request.set_field_by_name("namespace", Value::String(namespace.to_owned()));
    request.set_field_by_name("schedule_id", Value::String(schedule_id.clone()));
    let query = head.uri.query().unwrap_or_default();
    let query =
        request::query(query).map_err(|error| Status::invalid_argument(error.to_string()))?;
    for (name, text) in query {
        let number = |least: i64| {
            let number = text.parse::<i64>().ok().filter(|number| *number >= least);
            let problem = format!("the query: `{name}`: expected a whole number, found {text:?}");
            number.ok_or_else(|| Status::invalid_argument(problem))
        };
        match name.as_str() {
            // The RPC limits the range.
            "limit" => {
                let limit = i32::try_from(number(i64::MIN)?.max(1)).unwrap_or(i32::MAX);
                request.set_field_by_name("limit", Value::I32(limit));
            }
            "after_sequence" => request.set_field_by_name("after_sequence", Value::I64(number(0)?)),
            response::PRETTY | response::WITHOUT_SHORTHAND => {}
            _ => {
                let problem = format!("the query: `{name}`: expected limit or after_sequence");
                return Err(Status::invalid_argument(problem));
            }
        }
    }

    let response = api.call(&rpc, context, request.encode_to_vec().into()).await?;
    let namespace = namespace.to_owned();
    let write = move |response| response::text(&shown(&response, &schedule_id, &namespace), format);
    api.transcoder.write(&rpc, response, write).await
}

fn shown(response: &DynamicMessage, schedule_id: &str, namespace: &str) -> Json {
    let field = |name| response.get_field_by_name(name).map(|value| value.into_owned());
    let events = match field("events") {
        Some(Value::List(events)) => events,
        _ => Vec::new(),
    };
    let has_more = field("has_more").and_then(|value| value.as_bool()).unwrap_or_default();
    let next_cursor = field("next_cursor").and_then(|value| value.as_i64()).filter(|_| has_more);
    json!({
        "schedule_id": schedule_id,
        "namespace": namespace,
        "events": events.iter().filter_map(Value::as_message).map(json::audit_event_of).collect::<Vec<_>>(),
        "has_more": has_more,
        "next_cursor": next_cursor,
    })
}
