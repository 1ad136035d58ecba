//! Batch jobs.

use expect_test::expect;

use super::scene::Scene;

fn three() -> Scene {
    let scene = Scene::new();
    for n in 1..=3 {
        scene.json(&format!("workflow start --type Waits -t main -w order-{n}"));
    }
    scene.until("workflow count", |it| it["count"] == "3");
    scene
}

#[test]
fn a_batch_asks_first() {
    let scene = three();
    let cancel = "workflow cancel --query 'WorkflowType = \"Waits\"' --reason 'all of them'";
    scene.check_typing(cancel, "n\n", expect![[r#"
        -- stderr --
        Cancel approximately 3 workflows? y/N error: not confirmed, nothing was done; --yes skips the question
        -- exit 1 --
    "#]]);
    scene.check_typing(cancel, "", expect![[r#"
        -- stderr --
        Cancel approximately 3 workflows? y/N error: not confirmed, nothing was done; --yes skips the question
        -- exit 1 --
    "#]]);
    scene.check(
        &format!("{cancel} -o json"),
        expect![[r#"
            -- stderr --
            error: Cancel approximately 3 workflows? Confirm with --yes: there is no prompt with --output json, jsonl or none
            -- exit 2 --
        "#]],
    );
    assert_eq!(scene.json("batch list"), serde_json::json!([]));
    scene.check_typing(cancel, "y\n", expect![[r#"
        Started batch job <uuid>
        -- stderr --
        Cancel approximately 3 workflows? y/N `perennial batch describe --job-id <uuid>` shows the progress
    "#]]);
    scene.until("workflow count -q 'ExecutionStatus = \"Canceled\"'", |it| it["count"] == "3");
    scene.until("batch list", |it| it[0]["state"] == "BATCH_OPERATION_STATE_COMPLETED");
    scene.check(
        "batch list",
        expect![[r#"
        JobId  Type  State  StartTime  CloseTime
        <uuid>  CancelWorkflow  Completed  <time>  <time>
    "#]],
    );
    let job = scene.json("batch list")[0]["jobId"].as_str().unwrap().to_owned();
    scene.check(
        &format!("batch describe {job}"),
        expect![[r#"
              JobId  <uuid>
              Type  CancelWorkflow
              State  Completed
              Query  (WorkflowType = "Waits") AND ExecutionStatus = 'Running'
              Reason  all of them
              Identity  perennial-cli:ada<uuid>
              StartTime  <time>
              CloseTime  <time>
              CompletedCount  3/3
              FailureCount  0/3
        "#]],
    );
    scene.check(
        &format!("batch terminate --job-id {job} --reason late"),
        expect![[r#"
            -- stderr --
            error: batch job <uuid> has ended already
            -- exit 3 --
        "#]],
    );
    scene.check(
        "batch describe --job-id nobody",
        expect![[r#"
            -- stderr --
            error: there is no batch job nobody; `perennial batch list` lists the batch jobs
            -- exit 3 --
        "#]],
    );
}

#[test]
fn batches_signal_reset_terminate_and_delete() {
    let scene = three();
    let query = "--query 'WorkflowType = \"Waits\"' --yes";
    let signal = scene.json(&format!("workflow signal {query} --name hello --rps 100"));
    assert!(signal["batchJobId"].is_string());
    scene.until("batch list", |it| it[0]["state"] == "BATCH_OPERATION_STATE_COMPLETED");
    let history = scene.json("workflow show order-2").to_string();
    assert!(history.contains("\"hello\""), "{history}");
    scene.json(&format!("workflow reset {query} --type FirstWorkflowTask --reason again"));
    scene.until("workflow count", |it| it["count"] == "6");
    scene.check(
        &format!("workflow reset {query} --type LastContinuedAsNew --reason x"),
        expect![[r#"
            -- stderr --
            error: many workflows can't be reset to LastContinuedAsNew; write FirstWorkflowTask, LastWorkflowTask or BuildId
            -- exit 2 --
        "#]],
    );
    scene.check(
        &format!("workflow reset {query} --type BuildId --reason x"),
        expect![[r#"
            -- stderr --
            error: missing build: --build-id ID
            -- exit 2 --
        "#]],
    );
    scene.json(&format!("workflow terminate {query}"));
    scene
        .until("workflow count -q 'ExecutionStatus = \"Running\"'", |it| it.get("count").is_none());
    scene.json(&format!("workflow delete {query} --reason done"));
    scene.until("workflow count", |it| it.get("count").is_none());
}
