//! Starts of workflows and their results.

use expect_test::expect;

use super::scene::Scene;

#[test]
fn a_started_workflow_is_shown_listed_counted_and_described() {
    let scene = Scene::new();
    let start = "workflow start --type Waits --task-queue main --workflow-id order-1 \
                 --input '{\"sku\": 7}' --memo 'note=\"x\"' --static-summary 'the first order'";
    scene.check(
        start,
        expect![[r#"
        Running execution:
          WorkflowId  order-1
          RunId  <uuid>
          Type  Waits
          Namespace  default
          TaskQueue  main
    "#]],
    );
    scene.until("workflow describe order-1", |it| {
        it["workflowExecutionInfo"]["historyLength"] == "4"
    });
    scene.check(
        "workflow list",
        expect![[r#"
        Status  WorkflowId  Type  StartTime  CloseTime  TaskQueue
        Running  order-1  Waits  <time>  main
    "#]],
    );
    scene.check(
        "workflow list --query 'WorkflowType = \"Nobody\"'",
        expect![[r#"
        -- stderr --
        no workflows that match in the namespace default
    "#]],
    );
    scene.check(
        "workflow count",
        expect![[r#"
        Total: 1
    "#]],
    );
    scene.check(
        "workflow count -q 'WorkflowId = \"order-1\" GROUP BY ExecutionStatus'",
        expect![[r#"
            Total: 1
            Count  Values
            1  Running
        "#]],
    );
    scene.check(
        "workflow describe order-1",
        expect![[r#"
            Execution Info:
              WorkflowId  order-1
              RunId  <uuid>
              Type  Waits
              Status  Running
              Namespace  default
              TaskQueue  main
              Summary  the first order
              StartTime  <time>
              Memo  {"note":"x"}
              SearchAttributes  {"BuildIds":["unversioned"]}
              HistoryLength  4
              HistorySize  <took>
              StateTransitions  3

            Pending activities: 0

            Pending child workflows: 0
        "#]],
    );
    scene.check("workflow describe order-1 --reset-points --output none", expect![[""]]);
}

#[test]
fn execute_shows_the_history_and_the_result() {
    let scene = Scene::new();
    let execute = "workflow execute --type Echo -t main -w echo-1 -i '{\"a\": [1, \"b\"]}'";
    scene.check(
        execute,
        expect![[r#"
            Running execution:
              WorkflowId  echo-1
              RunId  <uuid>
              Type  Echo
              Namespace  default
              TaskQueue  main

            Id  Time  Type  Details
            1  <time>  WorkflowExecutionStarted  Echo
            2  <time>  WorkflowTaskScheduled
            3  <time>  WorkflowTaskStarted  worker
            4  <time>  WorkflowTaskCompleted
            5  <time>  WorkflowExecutionCompleted

            Results:
              RunTime  <some>
              Status  COMPLETED
              Result  {"a":[1,"b"]}
              ResultEncoding  json/plain
        "#]],
    );
    scene.check(
        "workflow show echo-1",
        expect![[r#"
        Id  Time  Type  Details
        1  <time>  WorkflowExecutionStarted  Echo
        2  <time>  WorkflowTaskScheduled
        3  <time>  WorkflowTaskStarted  worker
        4  <time>  WorkflowTaskCompleted
        5  <time>  WorkflowExecutionCompleted

        Results:
          Status  COMPLETED
          Result  {"a":[1,"b"]}
          ResultEncoding  json/plain
    "#]],
    );
    scene.check(
        "workflow show echo-1 --reverse --detailed",
        expect![[r#"
            [5] WorkflowExecutionCompleted
              eventTime  <time>
              taskId  1048581
              result[0].a[0]  1
              result[0].a[1]  b
              workflowTaskCompletedEventId  4

            [4] WorkflowTaskCompleted
              eventTime  <time>
              taskId  1048580
              scheduledEventId  2
              startedEventId  3
              identity  worker

            [3] WorkflowTaskStarted
              eventTime  <time>
              taskId  1048579
              scheduledEventId  2
              identity  worker
              requestId  <uuid>
              historySizeBytes  <some>

            [2] WorkflowTaskScheduled
              eventTime  <time>
              taskId  1048578
              taskQueue.name  main
              taskQueue.kind  TASK_QUEUE_KIND_NORMAL
              startToCloseTimeout  10s
              attempt  1

            [1] WorkflowExecutionStarted
              eventTime  <time>
              taskId  1048577
              workflowType.name  Echo
              taskQueue.name  main
              taskQueue.kind  TASK_QUEUE_KIND_NORMAL
              input[0].a[0]  1
              input[0].a[1]  b
              workflowTaskTimeout  10s
              originalExecutionRunId  <uuid>
              identity  perennial-cli:ada<uuid>
              firstExecutionRunId  <uuid>
              attempt  1
              firstWorkflowTaskBackoff  0s
              workflowId  echo-1
        "#]],
    );
    scene.check(
        "workflow describe echo-1",
        expect![[r#"
            Execution Info:
              WorkflowId  echo-1
              RunId  <uuid>
              Type  Echo
              Status  Completed
              Namespace  default
              TaskQueue  main
              StartTime  <time>
              CloseTime  <time>
              SearchAttributes  {"BuildIds":["unversioned"]}
              HistoryLength  5
              HistorySize  <took>
              StateTransitions  3

            Results:
              RunTime  <some>
              Status  COMPLETED
              Result  {"a":[1,"b"]}
              ResultEncoding  json/plain
        "#]],
    );
    scene.check(
        "workflow result echo-1",
        expect![[r#"
        Results:
          Status  COMPLETED
          Result  {"a":[1,"b"]}
          ResultEncoding  json/plain
    "#]],
    );
}

#[test]
fn a_failed_workflow_fails_the_command() {
    let scene = Scene::new();
    scene.check(
        "workflow execute --type Breaks -t main -w breaks-1",
        expect![[r#"
            Running execution:
              WorkflowId  breaks-1
              RunId  <uuid>
              Type  Breaks
              Namespace  default
              TaskQueue  main

            Id  Time  Type  Details
            1  <time>  WorkflowExecutionStarted  Breaks
            2  <time>  WorkflowTaskScheduled
            3  <time>  WorkflowTaskStarted  worker
            4  <time>  WorkflowTaskCompleted
            5  <time>  WorkflowExecutionFailed  broken on purpose

            Results:
              RunTime  <some>
              Status  FAILED
              Failure  Message: broken on purpose
            -- stderr --
            error: workflow failed: broken on purpose
            -- exit 1 --
        "#]],
    );
    scene.check(
        "workflow result breaks-1",
        expect![[r#"
        Results:
          Status  FAILED
          Failure  Message: broken on purpose
        -- stderr --
        error: workflow failed: broken on purpose
        -- exit 1 --
    "#]],
    );
    scene.check(
        "workflow result breaks-1 --output none",
        expect![[r#"
        -- stderr --
        error: workflow failed: broken on purpose
        -- exit 1 --
    "#]],
    );
}

#[test]
fn the_result_is_that_of_the_last_run() {
    let scene = Scene::new();
    let executed = scene.json("workflow execute --type Again -t main -w again-1");
    assert_eq!(executed["result"], "the second run");
    let run = executed["runId"].as_str().expect("it is text");
    scene.check(
        &format!("workflow show again-1 --run-id {run} --follow"),
        expect![[r#"
        Id  Time  Type  Details
        1  <time>  WorkflowExecutionStarted  Again
        2  <time>  WorkflowTaskScheduled
        3  <time>  WorkflowTaskStarted  worker
        4  <time>  WorkflowTaskCompleted
        5  <time>  WorkflowExecutionContinuedAsNew  run <uuid>
        1  <time>  WorkflowExecutionStarted  Again
        2  <time>  WorkflowTaskScheduled
        3  <time>  WorkflowTaskStarted  worker
        4  <time>  WorkflowTaskCompleted
        5  <time>  WorkflowExecutionCompleted

        Results:
          Status  COMPLETED
          Result  "the second run"
          ResultEncoding  json/plain
    "#]],
    );
    scene.check(
        &format!("workflow show again-1 --run-id {run}"),
        expect![[r#"
        Id  Time  Type  Details
        1  <time>  WorkflowExecutionStarted  Again
        2  <time>  WorkflowTaskScheduled
        3  <time>  WorkflowTaskStarted  worker
        4  <time>  WorkflowTaskCompleted
        5  <time>  WorkflowExecutionContinuedAsNew  run <uuid>

        Results:
          Status  CONTINUED_AS_NEW
    "#]],
    );
}

#[test]
fn a_workflow_that_runs_is_shown_instead_of_a_second_one() {
    let scene = Scene::new();
    let start = "workflow start --type Waits -t main -w order-1";
    let first = scene.json(start);
    assert_eq!(scene.json(start), first);
    scene.check(
        &format!("{start} --fail-existing"),
        expect![[r#"
        -- stderr --
        error: Workflow execution is already running. WorkflowId: order-1, RunId: <uuid>.
        -- exit 4 --
    "#]],
    );
    scene.check(
        &format!("{start} --id-conflict-policy Fail --fail-existing"),
        expect![[r#"
        -- stderr --
        error: Workflow execution is already running. WorkflowId: order-1, RunId: <uuid>.
        -- exit 4 --
    "#]],
    );
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
