//! The mapping of paths, queries and bodies to RPCs, and of responses to JSON.

use serde_json::json;

use crate::http::test_server::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn workflow_started_over_http_is_found_at_both_kinds_of_paths() {
    let server = TestServer::new().await;
    let started = server.start("order-1", json!({"input": [{"b": 1, "a": []}, "x"]})).await;
    assert_eq!(started["status"], "WORKFLOW_EXECUTION_STATUS_RUNNING");
    for root in ["/api/v1/namespaces", "/namespaces"] {
        let described = server.get(&format!("{root}/default/workflows/order-1")).await.done();
        let info = &described["workflowExecutionInfo"];
        assert_eq!(info["execution"]["runId"], started["runId"]);
        assert_eq!(info["status"], "WORKFLOW_EXECUTION_STATUS_RUNNING");
        let history = server.get(&format!("{root}/default/workflows/order-1/history")).await.done();
        let first = &history["history"]["events"][0];
        assert_eq!(first["eventId"], "1");
        let input = &first["workflowExecutionStartedEventAttributes"]["input"];
        assert_eq!(*input, json!([{"b": 1, "a": []}, "x"]));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payloads_are_in_full_on_request() {
    let server = TestServer::new().await;
    server.start("w", json!({"memo": {"fields": {"k": 7}}})).await;
    let path = "/api/v1/namespaces/default/workflows/w";
    let full = json!({"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "Nw=="});

    let plain = server.get(path).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!(plain.done()["workflowExecutionInfo"]["memo"]["fields"]["k"], 7);

    let asked = server.get(&format!("{path}?noPayloadShorthand&pretty")).await;
    let content_type = Some("application/json+pretty+no-payload-shorthand");
    assert_eq!(asked.header("content-type"), content_type);
    assert!(asked.body.contains("\n  \"workflowExecutionInfo\""), "{}", asked.body);
    assert_eq!(asked.done()["workflowExecutionInfo"]["memo"]["fields"]["k"], full);

    let accept = [("Accept", "text/html, application/json+no-payload-shorthand;q=0.9")];
    let accepted = server.ask("GET", path, &accept, "").await;
    assert_eq!(accepted.done()["workflowExecutionInfo"]["memo"]["fields"]["k"], full);

    // A body of that content type has payloads only in full.
    let body = json!({
        "workflowType": {"name": "Order"}, "taskQueue": {"name": "queue"},
        "memo": {"fields": {"k": full, "short": 1}},
    });
    let typed = [("Content-Type", "application/json+no-payload-shorthand")];
    let refused = server.ask("POST", &format!("{path}2"), &typed, &body.to_string()).await;
    assert_eq!(refused.code, 400);
    assert!(refused.body.contains(r#"memo.fields[\"short\"]"#), "{}", refused.body);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn query_sets_nested_fields() {
    let server = TestServer::new().await;
    let run_id = server.start("w", json!({})).await["runId"].as_str().unwrap().to_owned();
    let path = "/api/v1/namespaces/default/workflows/w/history";
    let page =
        server.get(&format!("{path}?execution.runId={run_id}&maximumPageSize=1")).await.done();
    assert_eq!(page["history"]["events"].as_array().unwrap().len(), 1);
    let token = page["nextPageToken"].as_str().unwrap();
    // Names of the `.proto` file work too. The token isn't escaped, as clients often forget it.
    let rest = format!("{path}?execution.run_id={run_id}&next_page_token={token}");
    let rest = server.get(&rest).await.done();
    assert_eq!(rest["history"]["events"][0]["eventId"], "2");

    let last = "historyEventFilterType=HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT";
    let last = server.get(&format!("{path}?{last}")).await.done();
    assert_eq!(last, json!({"history": {}}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn id_may_contain_anything_that_a_path_can_escape() {
    let server = TestServer::new().await;
    server.start("a%2Fb%20%C3%A9%3F", json!({})).await;
    let list = server.get("/api/v1/namespaces/default/workflows").await.done();
    assert_eq!(list["executions"][0]["execution"]["workflowId"], "a/b é?");
    let path = "/api/v1/namespaces/default/workflows/a%2fb%20%c3%a9%3f";
    assert_eq!(server.get(path).await.code, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rpc_without_an_annotation_is_called_by_its_name() {
    let server = TestServer::new().await;
    server.start("w", json!({})).await;
    let rpc = "/api/v1/rpc/temporal.api.workflowservice.v1.WorkflowService";
    let poll = json!({"namespace": "default", "taskQueue": {"name": "queue"}, "identity": "me"});
    let task = server.post(&format!("{rpc}/PollWorkflowTaskQueue"), poll).await.done();
    assert_eq!(task["workflowExecution"]["workflowId"], "w");
    let done = json!({
        "namespace": "default",
        "taskToken": task["taskToken"],
        "commands": [{
            "commandType": "CompleteWorkflowExecution",
            "completeWorkflowExecutionCommandAttributes": {"result": [{"total": 7}]},
        }],
    });
    server.post(&format!("{rpc}/RespondWorkflowTaskCompleted"), done).await.done();
    let path = "/api/v1/namespaces/default/workflows/w/history?historyEventFilterType=2";
    let closed = server.get(path).await.done();
    let closed = &closed["history"]["events"][0]["workflowExecutionCompletedEventAttributes"];
    assert_eq!(closed["result"], json!([{"total": 7}]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_the_body() {
    let server = TestServer::new().await;
    let answer = server.ask("HEAD", "/api/v1/namespaces/default", &[], "").await;
    assert_eq!((answer.code, answer.body.as_str()), (200, ""));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openapi_document_is_served() {
    let server = TestServer::new().await;
    for path in ["/openapi.json", "/api/v1/openapi.json"] {
        let document = server.get(path).await.done();
        assert_eq!(document["openapi"], "3.0.3");
        assert!(document["paths"]["/api/v1/namespaces/{namespace}/workflows"]["get"].is_object());
    }
    let yaml = server.get("/openapi.yaml").await;
    assert_eq!(yaml.header("content-type"), Some("application/yaml"));
    assert!(yaml.body.starts_with("openapi: \"3.0.3\"\n"));
    server.stop().await;
}
