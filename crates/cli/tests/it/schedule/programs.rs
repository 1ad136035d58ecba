//! JSON output.

use serde_json::Value;

use super::create;
use crate::server::Server;

#[test]
fn describe_is_temporals_json_with_what_only_perennial_says_beside_it() {
    let server = Server::start();
    create(&server, "payroll", &[r#"--input={"a":1}"#]);
    let shown = server.json(&["schedule", "describe", "payroll"]);
    let keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
    for key in ["schedule", "info", "conflictToken", "scheduleId", "status", "internalId"] {
        assert!(keys.contains(&&key.to_owned()), "{key} in {keys:?}");
    }
    assert_eq!(shown["schedule"]["action"]["startWorkflow"]["input"][0]["a"], 1);
    assert_eq!(shown["info"]["futureActionTimes"][0], "2099-01-01T09:00:00Z");

    let raw = server.json(&["schedule", "describe", "payroll", "--no-json-shorthand-payloads"]);
    let input = &raw["schedule"]["action"]["startWorkflow"]["input"]["payloads"][0];
    assert_eq!(input["data"], "eyJhIjoxfQ==");
}

#[test]
fn a_list_is_an_array_or_a_line_each() {
    let server = Server::start();
    for id in ["a", "b", "c"] {
        create(&server, id, &[]);
    }
    let array = server.json(&["schedule", "list"]);
    assert_eq!(array.as_array().map(Vec::len), Some(3));
    let lines = server.says(&["schedule", "list", "--output=jsonl", "--limit=2"]);
    let ids: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["scheduleId"].clone())
        .collect();
    assert_eq!(ids.len(), 2, "{lines}");
    assert_eq!(server.says(&["schedule", "list", "--output=none"]), "");
    assert_eq!(server.says(&["-o", "json", "schedule", "list", "--query=ScheduleId='x'"]), "[]\n");
}

#[test]
fn a_trigger_answers_with_the_run_or_the_reason() {
    let server = Server::start();
    create(&server, "payroll", &[]);
    let started = server.json(&["schedule", "trigger", "payroll", r#"--input={"other":true}"#]);
    assert!(started["started"]["runId"].is_string(), "{started}");
    let skipped = server.json(&["schedule", "trigger", "payroll"]);
    assert_eq!(skipped["skipped"], "overlap_policy_skip");
}

#[test]
fn colour_is_for_terminals_alone() {
    let server = Server::start();
    create(&server, "payroll", &[]);
    assert!(!server.says(&["schedule", "list"]).contains('\x1b'));
    assert!(server.says(&["schedule", "list", "--color=always"]).contains("\x1b[1m"));
}
