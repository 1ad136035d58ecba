//! Activities, completed on behalf of a worker.

use expect_test::expect;

use super::scene::Scene;

/// A workflow that waits for its activity `charge`.
fn charging() -> Scene {
    let scene = Scene::new();
    scene.json("workflow start --type Parent -t main -w order-1");
    scene.until("workflow describe order-1", |it| {
        let started = it["pendingActivities"][0]["state"] == "PENDING_ACTIVITY_STATE_STARTED";
        started && it["pendingChildren"][0]["runId"].is_string()
    });
    scene
}

#[test]
fn an_activity_is_completed_for_its_worker() {
    let scene = charging();
    scene.check(
        "workflow describe order-1",
        expect![[r#"
            Execution Info:
              WorkflowId  order-1
              RunId  <uuid>
              Type  Parent
              Status  Running
              Namespace  default
              TaskQueue  main
              StartTime  <time>
              SearchAttributes  {"BuildIds":["unversioned"]}
              HistoryLength  11
              HistorySize  <took>
              StateTransitions  7

            Pending activities: 1
            ActivityId  Type  State  Attempt  Next  LastFailure  Worker
            charge  ChargeCard  Started  1  worker

            Pending child workflows: 1
            WorkflowId  Type  RunId
            order-1-child  Waits  <uuid>
        "#]],
    );
    let complete = "activity complete -w order-1 --activity-id charge --result '{\"paid\": true}'";
    scene.check(
        complete,
        expect![[r#"
        Activity completed
    "#]],
    );
    assert_eq!(scene.json("workflow result order-1")["result"]["paid"], true);
    scene.check(
        complete,
        expect![[r#"
        -- stderr --
        error: workflow execution already completed
        -- exit 3 --
    "#]],
    );
    scene.check("activity complete order-1 --activity-id charge --result paid", expect![[r#"
        -- stderr --
        error: invalid value 'paid' for '--result <JSON>': this is not JSON (expected value at line 1 column 1); quote text: '"paid"'

        For more information, try '--help'.
        -- exit 2 --
    "#]]);
}

#[test]
fn an_activity_is_failed_for_its_worker() {
    let scene = charging();
    let fail = "activity fail order-1 -a charge --reason 'card declined' --detail '{\"code\": 51}'";
    scene.check(
        fail,
        expect![[r#"
        Activity failed
    "#]],
    );
    scene.check(
        "workflow result order-1",
        expect![[r#"
        Results:
          Status  FAILED
          Failure  Message: card declined
        -- stderr --
        error: workflow failed: card declined
        -- exit 1 --
    "#]],
    );
}

#[test]
fn an_activity_is_canceled_for_its_worker_once_it_is_asked_to() {
    let scene = charging();
    scene.check(
        "activity cancel order-1 -a charge",
        expect![[r#"
        -- stderr --
        error: unable to mark activity as canceled without activity being request canceled first
        -- exit 2 --
    "#]],
    );
    scene.json("workflow cancel order-1");
    scene.until("workflow describe order-1", |it| {
        it["workflowExecutionInfo"]["status"] != "WORKFLOW_EXECUTION_STATUS_RUNNING"
            || it["pendingActivities"][0]["state"] == "PENDING_ACTIVITY_STATE_CANCEL_REQUESTED"
    });
    scene.check(
        "activity cancel order-1 -a charge --reason 'its machine is gone'",
        expect![[r#"
        Activity canceled
    "#]],
    );
    scene.check(
        "workflow result order-1",
        expect![[r#"
        Results:
          Status  CANCELED
        -- stderr --
        error: workflow failed (canceled)
        -- exit 1 --
    "#]],
    );
}

#[test]
fn an_activity_is_paused_changed_and_begun_anew() {
    let scene = charging();
    scene.check(
        "activity pause order-1 -a charge --reason 'bank is closed'",
        expect![[r#"
        Activity paused
    "#]],
    );
    let described = scene.json("workflow describe order-1");
    assert_eq!(described["pendingActivities"][0]["paused"], true);
    scene.check(
        "activity reset order-1 -a charge --keep-paused",
        expect![[r#"
        Activity reset
    "#]],
    );
    scene.check(
        "activity unpause order-1 -a charge --reset-attempts",
        expect![[r#"
        Activity unpaused
    "#]],
    );
    let change = "activity update-options order-1 -a charge --start-to-close-timeout 5m \
                  --retry-maximum-attempts 3";
    scene.check(
        change,
        expect![[r#"
            Activity options:
              TaskQueue  charges
              ScheduleToCloseTimeout  0s
              ScheduleToStartTimeout  0s
              StartToCloseTimeout  5m
              HeartbeatTimeout  0s
              InitialInterval  1s
              BackoffCoefficient  2
              MaximumInterval  1m40s
              MaximumAttempts  3
        "#]],
    );
    scene.check(
        "activity update-options order-1 -a charge --restore-original-options",
        expect![[r#"
            Activity options:
              TaskQueue  charges
              ScheduleToCloseTimeout  0s
              ScheduleToStartTimeout  0s
              StartToCloseTimeout  10m
              HeartbeatTimeout  0s
              InitialInterval  1s
              BackoffCoefficient  2
              MaximumInterval  1m40s
              MaximumAttempts  unlimited
        "#]],
    );
    scene.check(
        "activity update-options order-1 -a charge",
        expect![[r#"
            -- stderr --
            error: nothing to change: give at least one flag, such as --start-to-close-timeout 5m
            -- exit 2 --
        "#]],
    );
}
