//! Ending, resetting and pausing workflows.

use expect_test::expect;

use crate::scene::Scene;

#[test]
fn cancel_asks_and_terminate_does_not() {
    let scene = Scene::new();
    let start = "workflow start --type Waits -t main -w order-1";
    scene.json(start);
    scene.check("workflow cancel order-1 --reason 'changed my mind'", expect![[""]]);
    scene.check("workflow result order-1", expect![[""]]);
    scene.json(start);
    scene.check("workflow terminate order-1", expect![[""]]);
    scene.check("workflow result order-1", expect![[""]]);
    scene.check("workflow terminate order-1", expect![[""]]);
}

#[test]
fn a_deleted_workflow_is_gone() {
    let scene = Scene::new();
    scene.json("workflow execute --type Echo -t main -w echo-1");
    scene.check_typing("workflow delete echo-1", "no\n", expect![[""]]);
    scene.check("workflow delete echo-1 --yes", expect![[""]]);
    scene.until("workflow count", |it| it.as_object().is_some_and(|it| it.is_empty()));
    scene.check("workflow describe echo-1", expect![[""]]);
}

#[test]
fn reset_goes_on_from_a_point() {
    let scene = Scene::new();
    scene.json("workflow execute --type Echo -t main -w echo-1 -i 1");
    let reset = "workflow reset echo-1 --reason again";
    scene.check(reset, expect![[""]]);
    scene.check(&format!("{reset} --type LastWorkflowTask"), expect![[""]]);
    scene.json("workflow result echo-1");
    scene.check(&format!("{reset} --event-id 4 --reapply-exclude All"), expect![[""]]);
    scene.check(&format!("{reset} --type LastContinuedAsNew"), expect![[""]]);
    scene.check(&format!("{reset} --type BuildId"), expect![[""]]);
    scene.check("workflow reset echo-1 --type FirstWorkflowTask", expect![[""]]);
    scene.json("workflow execute --type Again -t main -w again-1");
    scene.check("workflow reset again-1 -t LastContinuedAsNew --reason again", expect![[""]]);
}

#[test]
fn a_paused_workflow_says_why() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    scene.check("workflow pause order-1 --reason later", expect![[""]]);
    let described = scene.json("workflow describe order-1");
    assert_eq!(described["workflowExtendedInfo"]["pauseInfo"]["reason"], "later");
    scene.check("workflow unpause order-1", expect![[""]]);
    scene.check("workflow update-options order-1 --priority-key 1", expect![[""]]);
}
