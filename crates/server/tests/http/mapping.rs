//! From paths, queries and bodies to RPCs and back.

use serde_json::json;

use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn workflow_started_over_http_is_there_at_both_kinds_of_paths() {
    let scene = Scene::new().await;
    let started = scene.start("order-1", json!({"input": [{"b": 1, "a": []}, "x"]})).await;
    assert_eq!(started["status"], "WORKFLOW_EXECUTION_STATUS_RUNNING");
    for root in ["/api/v1/namespaces", "/namespaces"] {
        let described = scene.get(&format!("{root}/default/workflows/order-1")).await.done();
        let info = &described["workflowExecutionInfo"];
        assert_eq!(info["execution"]["runId"], started["runId"]);
        assert_eq!(info["status"], "WORKFLOW_EXECUTION_STATUS_RUNNING");
        let history = scene.get(&format!("{root}/default/workflows/order-1/history")).await.done();
        let first = &history["history"]["events"][0];
        assert_eq!(first["eventId"], "1");
        let input = &first["workflowExecutionStartedEventAttributes"]["input"];
        assert_eq!(*input, json!([{"b": 1, "a": []}, "x"]));
    }
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payloads_are_in_full_for_those_who_ask() {
    let scene = Scene::new().await;
    scene.start("w", json!({"memo": {"fields": {"k": 7}}})).await;
    let path = "/api/v1/namespaces/default/workflows/w";
    let full = json!({"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "Nw=="});

    let plain = scene.get(path).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!(plain.done()["workflowExecutionInfo"]["memo"]["fields"]["k"], 7);

    let asked = scene.get(&format!("{path}?noPayloadShorthand&pretty")).await;
    let content_type = Some("application/json+pretty+no-payload-shorthand");
    assert_eq!(asked.header("content-type"), content_type);
    assert!(asked.body.contains("\n  \"workflowExecutionInfo\""), "{}", asked.body);
    assert_eq!(asked.done()["workflowExecutionInfo"]["memo"]["fields"]["k"], full);

    let accept = [("Accept", "text/html, application/json+no-payload-shorthand;q=0.9")];
    let accepted = scene.ask("GET", path, &accept, "").await;
    assert_eq!(accepted.done()["workflowExecutionInfo"]["memo"]["fields"]["k"], full);

    // In a body of that type, a payload is a payload and nothing else.
    let body = json!({
        "workflowType": {"name": "Order"}, "taskQueue": {"name": "queue"},
        "memo": {"fields": {"k": full, "short": 1}},
    });
    let typed = [("Content-Type", "application/json+no-payload-shorthand")];
    let refused = scene.ask("POST", &format!("{path}2"), &typed, &body.to_string()).await;
    assert_eq!(refused.code, 400);
    assert!(refused.body.contains(r#"memo.fields[\"short\"]"#), "{}", refused.body);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn query_fills_fields_within_fields() {
    let scene = Scene::new().await;
    let run_id = scene.start("w", json!({})).await["runId"].as_str().unwrap().to_owned();
    let path = "/api/v1/namespaces/default/workflows/w/history";
    let page =
        scene.get(&format!("{path}?execution.runId={run_id}&maximumPageSize=1")).await.done();
    assert_eq!(page["history"]["events"].as_array().unwrap().len(), 1);
    let token = page["nextPageToken"].as_str().unwrap();
    // By the names of the file too. The token isn't escaped, as nobody escapes it.
    let rest = format!("{path}?execution.run_id={run_id}&next_page_token={token}");
    let rest = scene.get(&rest).await.done();
    assert_eq!(rest["history"]["events"][0]["eventId"], "2");

    let last = "historyEventFilterType=HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT";
    let last = scene.get(&format!("{path}?{last}")).await.done();
    assert_eq!(last, json!({"history": {}}));
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn id_may_hold_anything_a_path_can_escape() {
    let scene = Scene::new().await;
    scene.start("a%2Fb%20%C3%A9%3F", json!({})).await;
    let list = scene.get("/api/v1/namespaces/default/workflows").await.done();
    assert_eq!(list["executions"][0]["execution"]["workflowId"], "a/b é?");
    let path = "/api/v1/namespaces/default/workflows/a%2fb%20%c3%a9%3f";
    assert_eq!(scene.get(path).await.code, 200);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rpc_without_a_path_of_its_own_is_called_by_its_name() {
    let scene = Scene::new().await;
    scene.start("w", json!({})).await;
    let rpc = "/api/v1/rpc/temporal.api.workflowservice.v1.WorkflowService";
    let poll = json!({"namespace": "default", "taskQueue": {"name": "queue"}, "identity": "me"});
    let task = scene.post(&format!("{rpc}/PollWorkflowTaskQueue"), poll).await.done();
    assert_eq!(task["workflowExecution"]["workflowId"], "w");
    let done = json!({
        "namespace": "default",
        "taskToken": task["taskToken"],
        "commands": [{
            "commandType": "CompleteWorkflowExecution",
            "completeWorkflowExecutionCommandAttributes": {"result": [{"total": 7}]},
        }],
    });
    scene.post(&format!("{rpc}/RespondWorkflowTaskCompleted"), done).await.done();
    let path = "/api/v1/namespaces/default/workflows/w/history?historyEventFilterType=2";
    let closed = scene.get(path).await.done();
    let closed = &closed["history"]["events"][0]["workflowExecutionCompletedEventAttributes"];
    assert_eq!(closed["result"], json!([{"total": 7}]));
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_the_body() {
    let scene = Scene::new().await;
    let answer = scene.ask("HEAD", "/api/v1/namespaces/default", &[], "").await;
    assert_eq!((answer.code, answer.body.as_str()), (200, ""));
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn api_describes_itself() {
    let scene = Scene::new().await;
    for path in ["/openapi.json", "/api/v1/openapi.json"] {
        let document = scene.get(path).await.done();
        assert_eq!(document["openapi"], "3.0.3");
        assert!(document["paths"]["/api/v1/namespaces/{namespace}/workflows"]["get"].is_object());
    }
    let yaml = scene.get("/openapi.yaml").await;
    assert_eq!(yaml.header("content-type"), Some("application/yaml"));
    assert!(yaml.body.starts_with("openapi: \"3.0.3\"\n"));
    scene.stop().await;
}
