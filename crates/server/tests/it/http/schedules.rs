//! Perennial's own schedule service over HTTP.

use serde_json::{Value, json};

use crate::http::test_server::TestServer;

const SCHEDULE: &str = "/api/v1/namespaces/default/schedules/nightly";

async fn created() -> TestServer {
    let server = TestServer::new().await;
    let body = json!({
        "schedule": {"requestId": "create", "schedule": {
            "spec": {"cronString": ["0 2 * * *"]},
            "action": {"startWorkflow": {
                "workflowId": "nightly", "workflowType": {"name": "Night"}, "taskQueue": {"name": "queue"},
            }},
        }},
        "extensions": {"maxRuns": "5"},
    });
    server.post(&format!("{SCHEDULE}/create"), body).await.done();
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn schedule_is_created_changed_and_deleted_over_http() {
    let server = created().await;
    let described = server.get(&format!("{SCHEDULE}/describe")).await.done();
    assert_eq!(described["status"], "SCHEDULE_STATUS_ACTIVE");
    assert_eq!(described["extensions"]["maxRuns"], "5");

    let change = json!({"notes": "quiet nights", "overlapPolicy": "BufferOne"}).to_string();
    let changed = server.ask("PATCH", SCHEDULE, &[], &change).await.done();
    assert!(changed["conflictToken"].is_string());
    let triggered = server.post(&format!("{SCHEDULE}/trigger"), json!({"input": [1]})).await.done();
    let workflow_id = triggered["started"]["workflowId"].as_str().unwrap().to_owned();
    assert!(workflow_id.starts_with("nightly-"), "{workflow_id}");
    server.post(&format!("{SCHEDULE}/pause"), json!({"notes": "holidays"})).await.done();

    let ledger = server.get(&format!("{SCHEDULE}/ledger?manual=true")).await.done();
    assert_eq!(ledger["occurrences"][0]["run"]["workflowId"], Value::from(workflow_id));
    let explained =
        server.get(&format!("{SCHEDULE}/explain?time=2030-01-01T03:00:00Z")).await.done();
    assert_eq!(explained["occurrence"]["verdict"], "VERDICT_NOT_A_TIME");
    for end_of_time in ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2262-04-11T23:47:16Z"] {
        let explained = server.get(&format!("{SCHEDULE}/explain?time={end_of_time}")).await.done();
        assert_eq!(explained["occurrence"]["verdict"], "VERDICT_NOT_A_TIME", "{end_of_time}");
    }
    let temporals = server.get(SCHEDULE).await.done();
    assert_eq!(temporals["schedule"]["state"], json!({"paused": true, "notes": "holidays"}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_of_a_schedule_is_paged_by_sequence() {
    let server = created().await;
    server.post(&format!("{SCHEDULE}/trigger"), json!({})).await.done();
    let pause = json!({"notes": "holidays", "context": {"principal": "ada"}});
    server.post(&format!("{SCHEDULE}/pause"), pause).await.done();

    let path = "/api/schedules/nightly/history";
    let least = server.get(&format!("{path}?limit=-5")).await.done();
    assert_eq!(least["events"].as_array().map(Vec::len), Some(1), "a negative limit is one");
    let first = server.get(&format!("{path}?limit=2")).await.done();
    assert_eq!(
        (&first["schedule_id"], &first["namespace"]),
        (&json!("nightly"), &json!("default"))
    );
    assert_eq!((&first["has_more"], &first["next_cursor"]), (&json!(true), &json!(2)));
    let kinds = |page: &Value| -> Vec<String> {
        let events = page["events"].as_array().unwrap().iter();
        events.map(|event| event["event_type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&first), ["ScheduleCreated", "ScheduleTriggered"]);
    let created = &first["events"][0]["payload"];
    assert_eq!(created["overlap_policy"], "skip");
    assert_eq!(created["action"]["startWorkflow"]["workflowId"], "nightly");
    let triggered = &first["events"][1];
    assert_eq!(triggered["sequence"], 2);
    assert_eq!(triggered["payload"]["trigger_number"], 1);
    assert_eq!(triggered["workflow_run_id"], triggered["payload"]["workflow_run_id"]);
    let context = &triggered["payload"]["command_context"];
    assert_eq!(context["source"], "http");
    assert!(context["request_id"].is_string(), "{context}");

    let last = server.get(&format!("{path}?after_sequence=2")).await.done();
    assert_eq!((&last["has_more"], &last["next_cursor"]), (&json!(false), &Value::Null));
    assert_eq!(kinds(&last), ["SchedulePaused"]);
    let context = &last["events"][0]["payload"]["command_context"];
    assert_eq!(*context, json!({"principal": "ada", "source": "http"}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_of_the_namespace_in_the_header_and_outlives_the_schedule() {
    let server = created().await;
    let path = "/api/schedules/nightly/history";
    assert_eq!(server.ask("GET", path, &[("X-Namespace", "default")], "").await.code, 200);
    assert_eq!(server.ask("GET", path, &[("X-Namespace", "other")], "").await.code, 404);
    assert_eq!(server.ask("GET", path, &[("X-Namespace", "nowhere")], "").await.code, 404);
    assert_eq!(server.ask("DELETE", SCHEDULE, &[], "").await.code, 200);
    let history = server.get(path).await.done();
    assert_eq!(history["events"][1]["event_type"], "ScheduleDeleted");
    for (query, problem) in [
        ("limit=x", "`limit`: expected a whole number"),
        ("after_sequence=-1", "`after_sequence`: expected a whole number"),
        ("sort=up", "`sort`: expected limit or after_sequence"),
    ] {
        let refused = server.get(&format!("{path}?{query}")).await;
        assert_eq!(refused.code, 400);
        assert!(refused.body.contains(problem), "{}", refused.body);
    }
    assert_eq!(server.ask("POST", path, &[], "").await.code, 405);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn durations_may_be_written_in_iso_8601() {
    let server = created().await;
    let change = json!({"catchupWindow": "PT1H30M", "spec": {"interval": [{"interval": "P1D", "phase": "PT2H"}]}});
    server.ask("PATCH", SCHEDULE, &[], &change.to_string()).await.done();
    let changed = server.get(SCHEDULE).await.done();
    let schedule = &changed["schedule"];
    assert_eq!(schedule["policies"]["catchupWindow"], "5400s");
    assert_eq!(schedule["spec"]["interval"][0], json!({"interval": "86400s", "phase": "7200s"}));
    let wrong = json!({"catchupWindow": "P1M"});
    let refused = server.ask("PATCH", SCHEDULE, &[], &wrong.to_string()).await;
    assert_eq!(refused.code, 400);
    assert!(refused.body.contains("a duration such as"), "{}", refused.body);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_lists_the_outcome_of_each_occurrence() {
    let server = created().await;
    let window = json!({
        "startTime": "2030-01-01T00:00:00Z", "endTime": "2030-01-02T23:59:59Z",
        "overlapPolicy": "SCHEDULE_OVERLAP_POLICY_ALLOW_ALL",
    });
    let begun = server.post(&format!("{SCHEDULE}/backfills"), window).await.done();
    assert_eq!(begun["backfill"]["backfillId"], "1");
    let page = server.get(&format!("{SCHEDULE}/backfills/1/occurrences?limit=1")).await.done();
    assert_eq!(page["occurrences"][0], begun["occurrences"][0]);
    assert_eq!(page["occurrences"][0]["outcome"], "triggered");
    let next = page["nextPageToken"].as_str().unwrap().replace('+', "%2B");
    let path = format!("{SCHEDULE}/backfills/1/occurrences?limit=1&nextPageToken={next}");
    let page = server.get(&path).await.done();
    assert_eq!(page["occurrences"][0], begun["occurrences"][1]);
    assert_eq!(server.get(&format!("{SCHEDULE}/backfills/2/occurrences")).await.code, 404);
    server.stop().await;
}
