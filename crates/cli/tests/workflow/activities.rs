//! Activities, in the place of a worker.

use expect_test::expect;

use crate::scene::Scene;

/// A workflow that waits for its activity `charge`.
fn charging() -> Scene {
    let scene = Scene::new();
    scene.json("workflow start --type Parent -t main -w order-1");
    scene.until("workflow describe order-1", |it| it["pendingActivities"].is_array());
    scene
}

#[test]
fn an_activity_is_completed_for_its_worker() {
    let scene = charging();
    scene.check("workflow describe order-1", expect![[""]]);
    let complete = "activity complete -w order-1 --activity-id charge --result '{\"paid\": true}'";
    scene.check(complete, expect![[""]]);
    assert_eq!(scene.json("workflow result order-1")["result"]["paid"], true);
    scene.check(complete, expect![[""]]);
    scene.check("activity complete order-1 --activity-id charge --result paid", expect![[""]]);
}

#[test]
fn an_activity_is_failed_for_its_worker() {
    let scene = charging();
    let fail = "activity fail order-1 -a charge --reason 'card declined' --detail '{\"code\": 51}'";
    scene.check(fail, expect![[""]]);
    scene.check("workflow result order-1", expect![[""]]);
}

#[test]
fn an_activity_is_canceled_for_its_worker_once_it_is_asked_to() {
    let scene = charging();
    scene.check("activity cancel order-1 -a charge", expect![[""]]);
    scene.json("workflow cancel order-1");
    scene.until("workflow describe order-1", |it| {
        it["workflowExecutionInfo"]["status"] != "WORKFLOW_EXECUTION_STATUS_RUNNING"
            || it["pendingActivities"][0]["state"] == "PENDING_ACTIVITY_STATE_CANCEL_REQUESTED"
    });
    scene.check("workflow result order-1", expect![[""]]);
}

#[test]
fn an_activity_is_paused_changed_and_begun_anew() {
    let scene = charging();
    scene.check("activity pause order-1 -a charge --reason 'bank is closed'", expect![[""]]);
    let described = scene.json("workflow describe order-1");
    assert_eq!(described["pendingActivities"][0]["paused"], true);
    scene.check("activity reset order-1 -a charge --keep-paused", expect![[""]]);
    scene.check("activity unpause order-1 -a charge --reset-attempts", expect![[""]]);
    let change = "activity update-options order-1 -a charge --start-to-close-timeout 5m \
                  --retry-maximum-attempts 3";
    scene.check(change, expect![[""]]);
    scene.check(
        "activity update-options order-1 -a charge --restore-original-options",
        expect![[""]],
    );
    scene.check("activity update-options order-1 -a charge", expect![[""]]);
}
