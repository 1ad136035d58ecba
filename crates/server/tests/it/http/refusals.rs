//! Errors for invalid requests name the field and the problem, and are never server errors.

use perennial_server::ServerConfig;
use serde_json::json;

use crate::http::test_server::TestServer;

const WORKFLOWS: &str = "/api/v1/namespaces/default/workflows";

#[tokio::test(flavor = "multi_thread")]
async fn invalid_request_gets_an_error_that_names_the_field() {
    let server = TestServer::new().await;
    let deep = "[".repeat(200) + &"]".repeat(200);
    for (method, path, body, problem) in [
        ("POST", "/w", "{nope", "the body isn't JSON: key must be a string at line 1 column 2"),
        ("POST", "/w", r#"{"a": 1} {}"#, "the body isn't JSON: trailing characters"),
        ("POST", "/w", "\"text\"", "the body: expected an object, found \"text\""),
        (
            "POST",
            "/w",
            &deep,
            "the body: its JSON is nested 200 levels deep, more than the limit of 120",
        ),
        (
            "POST",
            "/w",
            r#"{"workflowTypee": {}}"#,
            "`workflowTypee`: StartWorkflowExecutionRequest has no such field; did you mean `workflowType`?",
        ),
        (
            "POST",
            "/w",
            r#"{"workflowType": {"name": 5}}"#,
            "`workflowType.name`: expected text, found 5",
        ),
        (
            "POST",
            "/w",
            r#"{"retryPolicy": {"maximumAttempts": 0.5}}"#,
            "`retryPolicy.maximumAttempts`: expected a whole number of 32 bits, found 0.5",
        ),
        (
            "POST",
            "/w",
            r#"{"workflowRunTimeout": "1e9s"}"#,
            "`workflowRunTimeout`: expected a duration",
        ),
        (
            "POST",
            "/w",
            r#"{"workflowIdReusePolicy": "Sometimes"}"#,
            "`workflowIdReusePolicy`: expected one of",
        ),
        (
            "POST",
            "/w",
            r#"{"memo": {"fields": []}}"#,
            "`memo.fields`: expected an object, found an array",
        ),
        ("POST", "/w?pageSize=1", "{}", "`pageSize`: fields are given in the body here"),
        (
            "GET",
            "?pageSize=x",
            "",
            "the query: `pageSize`: expected a whole number of 32 bits, found \"x\"",
        ),
        (
            "GET",
            "?pageSise=1",
            "",
            "`pageSise`: ListWorkflowExecutionsRequest has no such field; did you mean `pageSize`?",
        ),
        ("GET", "?query.x=1", "", "the query: `query.x`: it has no nested fields"),
        ("GET", "?pageSize=1&pageSize=2", "", "the query: `pageSize`: it is given twice"),
        ("GET", "?nextPageToken=%2a", "", "the query: `nextPageToken`: expected bytes in base64"),
        ("GET", "?query=%ff", "", "the query: `%ff` isn't UTF-8"),
        ("GET", "/w/history?execution=x", "", "`execution`: its fields are given one by one"),
        (
            "GET",
            "/w/history?waitNewEvent=yes",
            "",
            "`waitNewEvent`: expected true or false, found \"yes\"",
        ),
    ] {
        let answer = server.ask(method, &format!("{WORKFLOWS}{path}"), &[], body).await;
        let problem = serde_json::Value::from(problem).to_string();
        let problem = problem.trim_matches('"');
        assert_eq!(answer.code, 400, "{method} {path} {body}: {}", answer.body);
        assert!(answer.body.contains(problem), "{method} {path} {body}: {}", answer.body);
        assert_eq!(answer.json()["code"], 3);
    }
    let path = "/api/v1/namespaces/default/schedules/s/backfills/seven/cancel";
    let answer = server.post(path, json!({})).await;
    assert!(
        answer.body.contains("the path: `backfillId`: expected a whole number"),
        "{}",
        answer.body
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn error_has_the_code_message_and_details_of_grpc() {
    let server = TestServer::new().await;
    let missing = server.get(&format!("{WORKFLOWS}/missing")).await;
    assert_eq!(missing.code, 404);
    assert_eq!(
        missing.json(),
        json!({
            "code": 5, "message": "workflow not found for ID: missing",
            "details": [{"@type": "type.googleapis.com/temporal.api.errordetails.v1.NotFoundFailure"}],
        })
    );
    let run_id = server.start("w", json!({})).await["runId"].clone();
    let again = json!({"workflowType": {"name": "Order"}, "taskQueue": {"name": "queue"}});
    let again = server.post(&format!("{WORKFLOWS}/w"), again).await;
    assert_eq!(again.code, 409);
    assert_eq!(again.json()["details"][0]["runId"], run_id);

    let nowhere = server.get("/api/v1/namespaces/nowhere/workflows").await;
    assert_eq!(nowhere.json()["details"][0]["namespace"], "nowhere");
    let later = server.get("/api/v1/namespaces/default/worker-deployments").await;
    assert_eq!(later.code, 501);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_and_wrong_methods_get_different_codes() {
    let server = TestServer::new().await;
    for path in ["/", "/api/v1/nope", "/api/v1/namespaces/default/", "/api/schedules//history", "*"]
    {
        let answer = server.get(path).await;
        assert_eq!((answer.code, &answer.json()["code"]), (404, &json!(5)), "{path}");
    }
    let answer = server.ask("PUT", WORKFLOWS, &[], "").await;
    assert_eq!((answer.code, answer.header("allow")), (405, Some("GET")));
    let answer =
        server.ask("DELETE", "/api/v1/namespaces/default/schedules/s/backfills", &[], "").await;
    assert_eq!((answer.code, answer.header("allow")), (405, Some("GET, POST")));
    assert_eq!(server.ask("POST", "/openapi.json", &[], "").await.code, 405);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_has_a_limit() {
    let config = ServerConfig { request_bytes_max: 1024, ..ServerConfig::default() };
    let server = TestServer::with(config).await;
    let body = json!({"identity": "x".repeat(2000)});
    let answer = server.post(&format!("{WORKFLOWS}/w"), body).await;
    assert_eq!((answer.code, &answer.json()["code"]), (413, &json!(8)));
    assert!(answer.body.contains("the body is larger than 1024 bytes"), "{}", answer.body);
    server.stop().await;
}
