//! Ending, resetting and pausing workflows.

use expect_test::expect;

use super::scene::Scene;

#[test]
fn cancel_asks_and_terminate_does_not() {
    let scene = Scene::new();
    let start = "workflow start --type Waits -t main -w order-1";
    scene.json(start);
    scene.check(
        "workflow cancel order-1 --reason 'changed my mind'",
        expect![[r#"
        Canceled workflow
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
    scene.json(start);
    scene.check(
        "workflow terminate order-1",
        expect![[r#"
        Workflow terminated
    "#]],
    );
    scene.check(
        "workflow result order-1",
        expect![[r#"
        Results:
          Status  TERMINATED
          Reason  Requested from CLI by ada
        -- stderr --
        error: workflow failed (terminated): Requested from CLI by ada
        -- exit 1 --
    "#]],
    );
    scene.check(
        "workflow terminate order-1",
        expect![[r#"
        -- stderr --
        error: workflow execution already completed
        -- exit 3 --
    "#]],
    );
}

#[test]
fn a_deleted_workflow_is_gone() {
    let scene = Scene::new();
    scene.json("workflow execute --type Echo -t main -w echo-1");
    scene.check_typing("workflow delete echo-1", "no\n", expect![[r#"
        -- stderr --
        Delete the workflow echo-1? y/N error: not confirmed, nothing was done; --yes skips the question
        -- exit 1 --
    "#]]);
    scene.check(
        "workflow delete echo-1 --yes",
        expect![[r#"
        Delete workflow succeeded
    "#]],
    );
    scene.until("workflow count", |it| it.as_object().is_some_and(|it| it.is_empty()));
    scene.check(
        "workflow describe echo-1",
        expect![[r#"
        -- stderr --
        error: workflow not found for ID: echo-1
        -- exit 3 --
    "#]],
    );
}

#[test]
fn reset_goes_on_from_a_point() {
    let scene = Scene::new();
    scene.json("workflow execute --type Echo -t main -w echo-1 -i 1");
    let reset = "workflow reset echo-1 --reason again";
    scene.check(
        reset,
        expect![[r#"
            -- stderr --
            error: missing reset point: give --event-id ID or --type LastWorkflowTask
            -- exit 2 --
        "#]],
    );
    scene.check(
        &format!("{reset} --type LastWorkflowTask"),
        expect![[r#"
            Reset workflow echo-1 to event 4
            The new run is <uuid>
        "#]],
    );
    scene.json("workflow result echo-1");
    scene.check(
        &format!("{reset} --event-id 4 --reapply-exclude All"),
        expect![[r#"
            Reset workflow echo-1 to event 4
            The new run is <uuid>
        "#]],
    );
    scene.check(
        &format!("{reset} --type LastContinuedAsNew"),
        expect![[r#"
            -- stderr --
            error: the workflow has no such reset point: it was not continued from another run
            -- exit 4 --
        "#]],
    );
    scene.check(
        &format!("{reset} --type BuildId"),
        expect![[r#"
            -- stderr --
            error: --type BuildId works only with --query
            -- exit 2 --
        "#]],
    );
    scene.check("workflow reset echo-1 --type FirstWorkflowTask", expect![[r#"
        -- stderr --
        error: the following required arguments were not provided:
          --reason <TEXT>

        Usage: perennial workflow reset --reason <TEXT> --type <POINT> --command-timeout <DURATION> <WORKFLOW_ID>

        For more information, try '--help'.
        -- exit 2 --
    "#]]);
    scene.json("workflow execute --type Again -t main -w again-1");
    scene.check(
        "workflow reset again-1 -t LastContinuedAsNew --reason again",
        expect![[r#"
            Reset workflow again-1 to event 4
            The new run is <uuid>
        "#]],
    );
}

#[test]
fn a_paused_workflow_says_why() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    scene.check(
        "workflow pause order-1 --reason later",
        expect![[r#"
        Workflow paused
    "#]],
    );
    let described = scene.json("workflow describe order-1");
    assert_eq!(described["workflowExtendedInfo"]["pauseInfo"]["reason"], "later");
    scene.check(
        "workflow unpause order-1",
        expect![[r#"
        Workflow unpaused
    "#]],
    );
    scene.check(
        "workflow update-options order-1 --priority-key 1",
        expect![[r#"
        Workflow options:
          PriorityKey  1
    "#]],
    );
}
