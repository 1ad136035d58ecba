//! Starting workflows and seeing how they end.

use expect_test::expect;

use crate::scene::Scene;

#[test]
fn a_started_workflow_is_shown_listed_counted_and_described() {
    let scene = Scene::new();
    let start = "workflow start --type Waits --task-queue main --workflow-id order-1 \
                 --input '{\"sku\": 7}' --memo 'note=\"x\"' --static-summary 'the first order'";
    scene.check(start, expect![[""]]);
    scene.until("workflow describe order-1", |it| {
        it["workflowExecutionInfo"]["historyLength"] == "4"
    });
    scene.check("workflow list", expect![[""]]);
    scene.check("workflow list --query 'WorkflowType = \"Nobody\"'", expect![[""]]);
    scene.check("workflow count", expect![[""]]);
    scene.check(
        "workflow count -q 'WorkflowId = \"order-1\" GROUP BY ExecutionStatus'",
        expect![[""]],
    );
    scene.check("workflow describe order-1", expect![[""]]);
    scene.check("workflow describe order-1 --reset-points --output none", expect![[""]]);
}

#[test]
fn execute_shows_the_history_and_the_result() {
    let scene = Scene::new();
    let execute = "workflow execute --type Echo -t main -w echo-1 -i '{\"a\": [1, \"b\"]}'";
    scene.check(execute, expect![[""]]);
    scene.check("workflow show echo-1", expect![[""]]);
    scene.check("workflow show echo-1 --reverse --detailed", expect![[""]]);
    scene.check("workflow describe echo-1", expect![[""]]);
    scene.check("workflow result echo-1", expect![[""]]);
}

#[test]
fn a_failed_workflow_fails_the_command() {
    let scene = Scene::new();
    scene.check("workflow execute --type Breaks -t main -w breaks-1", expect![[""]]);
    scene.check("workflow result breaks-1", expect![[""]]);
    scene.check("workflow result breaks-1 --output none", expect![[""]]);
}

#[test]
fn the_result_is_that_of_the_last_run() {
    let scene = Scene::new();
    let executed = scene.json("workflow execute --type Again -t main -w again-1");
    assert_eq!(executed["result"], "the second run");
    let run = executed["runId"].as_str().expect("it is text");
    scene.check(&format!("workflow show again-1 --run-id {run} --follow"), expect![[""]]);
    scene.check(&format!("workflow show again-1 --run-id {run}"), expect![[""]]);
}

#[test]
fn a_workflow_that_runs_is_shown_instead_of_a_second_one() {
    let scene = Scene::new();
    let start = "workflow start --type Waits -t main -w order-1";
    let first = scene.json(start);
    assert_eq!(scene.json(start), first);
    scene.check(&format!("{start} --fail-existing"), expect![[""]]);
    scene.check(&format!("{start} --id-conflict-policy Fail --fail-existing"), expect![[""]]);
    let second = scene.json(&format!("{start} --id-conflict-policy terminate-existing"));
    assert_ne!(second, first);
}

#[test]
fn histories_are_written_anew_from_files() {
    let scene = Scene::new();
    scene.json("workflow execute --type Echo -t main -w echo-1 -i 1");
    let history = scene.json("workflow show echo-1");
    let file = std::env::temp_dir().join(format!("perennial-history-{}.json", std::process::id()));
    std::fs::write(&file, history.to_string()).unwrap();
    let line = format!("workflow fix-history-json --source {}", file.display());
    let fixed: serde_json::Value = serde_json::from_str(&scene.say(&line)).unwrap();
    assert_eq!(fixed, history);
    std::fs::write(&file, "{\"events\": [{\"eventKind\": 1}]}").unwrap();
    assert!(scene.say(&line).contains("is not a history"), "{}", scene.say(&line));
    std::fs::remove_file(&file).unwrap();
}
