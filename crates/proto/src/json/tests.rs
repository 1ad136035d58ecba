use prost::Message;
use serde_json::json;

use super::*;
use crate::temporal::common::v1::{Memo, Payload, Payloads as PayloadList};
use crate::temporal::workflowservice::v1::{
    ListWorkflowExecutionsResponse, StartWorkflowExecutionRequest,
};
use crate::{Duration, Timestamp};

fn payload(metadata: &[(&str, &str)], data: &str) -> Payload {
    Payload {
        metadata: metadata
            .iter()
            .map(|(key, value)| (key.to_string(), value.as_bytes().into()))
            .collect(),
        data: data.into(),
        ..Payload::default()
    }
}

fn plain(data: &str) -> Payload {
    payload(&[("encoding", "json/plain")], data)
}

fn start(json: Value) -> Result<StartWorkflowExecutionRequest, Error> {
    from_json(&json, Payloads::Shorthand)
}

fn refusal(json: Value) -> String {
    start(json).unwrap_err().to_string()
}

#[test]
fn every_message_of_every_service_has_a_descriptor_and_an_empty_form() {
    let mut methods = 0;
    for service in descriptors().services() {
        for method in service.methods() {
            methods += 1;
            for message in [method.input(), method.output()] {
                let empty = decode(message.clone(), &json!({}), Payloads::Shorthand).unwrap();
                assert_eq!(
                    encode(&empty, Payloads::Shorthand),
                    json!({}),
                    "{}",
                    message.full_name()
                );
            }
        }
    }
    assert!(methods > 130, "{methods}");
}

#[test]
fn methods_tell_their_http_paths() {
    let http = descriptors().get_extension_by_name("google.api.http").unwrap();
    let service = descriptors()
        .get_service_by_name("temporal.api.workflowservice.v1.WorkflowService")
        .unwrap();
    let annotated = service.methods().filter(|method| method.options().has_extension(&http));
    assert!(annotated.count() > 80);
}

#[test]
fn what_the_files_say_in_words_is_kept_without_what_linters_are_told() {
    let said = crate::comment("perennial.v1.ScheduleService.TriggerSchedule").unwrap();
    assert_eq!(said, "Starts a run now, and returns the result.");
    let request = "temporal.api.workflowservice.v1.StartWorkflowExecutionRequest";
    assert!(crate::comment(&format!("{request}.workflow_id_reuse_policy")).is_some());
    let service = "temporal.api.workflowservice.v1.WorkflowService";
    let said = crate::comment(&format!("{service}.RespondWorkflowTaskCompleted")).unwrap();
    assert!(!said.contains("api-linter"), "{said}");
}

#[test]
fn fields_have_camel_case_names_enums_full_names_times_and_durations_text() {
    let request = StartWorkflowExecutionRequest {
        workflow_id: "w".into(),
        workflow_id_reuse_policy: 3,
        workflow_run_timeout: Some(Duration { seconds: 90, nanos: 500_000_000 }),
        ..Default::default()
    };
    let json = json!({
        "workflowId": "w",
        "workflowRunTimeout": "90.500s",
        "workflowIdReusePolicy": "WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE",
    });
    assert_eq!(to_json(&request, Payloads::Shorthand), json);
    assert_eq!(start(json), Ok(request.clone()));
    // As the `.proto` files and older clients write them, and by number.
    let json = json!({"workflow_id": "w", "workflowRunTimeout": "90.5s", "workflowIdReusePolicy": "RejectDuplicate"});
    assert_eq!(start(json), Ok(request.clone()));
    let json =
        json!({"workflowId": "w", "workflowRunTimeout": "90.5s", "workflowIdReusePolicy": 3});
    assert_eq!(start(json), Ok(request));

    let time = Timestamp { seconds: 1_767_225_600, nanos: 5_000_000 };
    let json =
        json!({"executions": [{"startTime": "2026-01-01T00:00:00.005Z", "historyLength": "7"}]});
    let list: ListWorkflowExecutionsResponse = from_json(&json, Payloads::Shorthand).unwrap();
    assert_eq!((list.executions[0].start_time, list.executions[0].history_length), (Some(time), 7));
    assert_eq!(to_json(&list, Payloads::Shorthand), json);
}

#[test]
fn payload_that_holds_json_is_that_json() {
    for (payload, json) in [
        (plain(r#"{"b":1,"a":[2.5,null]}"#), json!({"b": 1, "a": [2.5, null]})),
        (plain("[]"), json!([])),
        (plain(r#""text""#), json!("text")),
        (
            payload(&[("encoding", "json/protobuf"), ("messageType", "a.B")], r#"{"x":1}"#),
            json!({"x": 1, "_protoMessageType": "a.B"}),
        ),
        (
            payload(&[("encoding", "binary/null")], ""),
            json!({"metadata": {"encoding": "YmluYXJ5L251bGw="}}),
        ),
        (
            payload(&[("encoding", "binary/plain")], "\u{1}"),
            json!({"metadata": {"encoding": "YmluYXJ5L3BsYWlu"}, "data": "AQ=="}),
        ),
        (
            payload(&[("encoding", "json/plain"), ("type", "Int")], "1"),
            json!({"metadata": {"encoding": "anNvbi9wbGFpbg==", "type": "SW50"}, "data": "MQ=="}),
        ),
    ] {
        let memo = Memo { fields: [("key".to_owned(), payload)].into() };
        let json = json!({"fields": {"key": json}});
        assert_eq!(to_json(&memo, Payloads::Shorthand), json);
        assert_eq!(from_json(&json, Payloads::Shorthand), Ok(memo));
    }
}

#[test]
fn value_that_would_be_read_as_something_else_is_a_payload_in_full() {
    for data in [
        "null",
        "not json",
        r#"{"_protoMessageType":"a.B"}"#,
        r#"{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"MQ=="}"#,
    ] {
        let memo = Memo { fields: [("key".to_owned(), plain(data))].into() };
        let json = to_json(&memo, Payloads::Shorthand);
        assert_eq!(json["fields"]["key"]["metadata"]["encoding"], "anNvbi9wbGFpbg==", "{data}");
        assert_eq!(from_json(&json, Payloads::Shorthand), Ok(memo));
    }
}

#[test]
fn list_of_payloads_is_a_list_of_values_if_each_can_be_one() {
    let short = PayloadList { payloads: vec![plain("1"), plain(r#"{"a":2}"#)] };
    assert_eq!(to_json(&short, Payloads::Shorthand), json!([1, {"a": 2}]));
    assert_eq!(from_json(&json!([1, {"a": 2}]), Payloads::Shorthand), Ok(short.clone()));
    assert_eq!(
        to_json(&short, Payloads::Full)["payloads"][0],
        json!({"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "MQ=="})
    );
    assert_eq!(from_json(&to_json(&short, Payloads::Full), Payloads::Full), Ok(short));

    let mixed = PayloadList { payloads: vec![plain("1"), payload(&[("encoding", "x/y")], "?")] };
    let json = to_json(&mixed, Payloads::Shorthand);
    assert_eq!(json["payloads"][0], 1);
    assert_eq!(from_json(&json, Payloads::Shorthand), Ok(mixed));
}

#[test]
fn error_names_the_field_and_what_it_takes() {
    assert_eq!(
        refusal(json!({"workflowIdd": "w"})),
        "`workflowIdd`: StartWorkflowExecutionRequest has no such field; did you mean `workflowId`?"
    );
    assert_eq!(refusal(json!([])), "expected an object, found an array");
    assert_eq!(refusal(json!({"workflowId": 7})), "`workflowId`: expected text, found 7");
    assert_eq!(
        refusal(json!({"retryPolicy": {"maximumAttempts": 3_000_000_000_u64}})),
        "`retryPolicy.maximumAttempts`: expected a whole number of 32 bits, found 3000000000"
    );
    assert_eq!(
        refusal(json!({"retryPolicy": {"nonRetryableErrorTypes": ["a", 1]}})),
        "`retryPolicy.nonRetryableErrorTypes[1]`: expected text, found 1"
    );
    assert_eq!(
        refusal(json!({"workflowRunTimeout": "soon"})),
        "`workflowRunTimeout`: expected a duration such as \"90s\" or \"PT1M30S\", found \"soon\""
    );
    assert_eq!(
        refusal(json!({"memo": {"fields": {"k": {"_protoMessageType": 1}}}})),
        "`memo.fields[\"k\"]._protoMessageType`: expected the name of a message, found 1"
    );
    assert_eq!(
        refusal(json!({"workflowId": "w", "workflow_id": "w"})),
        "`workflow_id`: given twice, under two names"
    );
    assert!(
        refusal(json!({"workflowIdReusePolicy": "Never"}))
            .contains("WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE")
    );
}

#[test]
fn long_names_are_neither_compared_nor_repeated() {
    let descriptor = super::descriptor::<StartWorkflowExecutionRequest>();
    let long = format!("workflowId{}", "d".repeat(300_000));
    let told = super::unknown_field(&descriptor, &long).to_string();
    assert!(told.len() < 200 && told.ends_with("has no such field"), "{told}");
    let told = refusal(json!({"workflowIdReusePolicy": long}));
    assert!(told.len() < 500, "{told}");
}

#[test]
fn message_of_any_type_has_its_fields_beside_its_type() {
    let status = json!({
        "code": 5,
        "details": [{"@type": "type.googleapis.com/temporal.api.errordetails.v1.NamespaceNotFoundFailure", "namespace": "n"}],
    });
    let descriptor = descriptors().get_message_by_name("google.rpc.Status").unwrap();
    let dynamic = decode(descriptor.clone(), &status, Payloads::Shorthand).unwrap();
    assert_eq!(encode(&dynamic, Payloads::Shorthand), status);
    assert_eq!(DynamicMessage::decode(descriptor, dynamic.encode_to_vec().as_slice()), Ok(dynamic));
}
