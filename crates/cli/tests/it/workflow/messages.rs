//! Signals, queries and updates.

use expect_test::expect;

use super::scene::Scene;

#[test]
fn a_workflow_answers_queries() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    scene.check(
        "workflow query order-1 --name state",
        expect![[r#"
        Query result:
          QueryResult  {
                         "waiting": true
                       }
    "#]],
    );
    scene.check(
        "workflow stack order-1",
        expect![[r#"
        Query result:
          QueryResult  at wait (flows:12)
                       at run (flows:3)
    "#]],
    );
    scene.check(
        "workflow metadata order-1",
        expect![[r#"
        Metadata:
          Type  Waits

        Query Definitions:
          state  how it is

        Signal Definitions:
          finish  -

        Current Details:
                  waiting
    "#]],
    );
    scene.check(
        "workflow query order-1 --name unknown",
        expect![[r#"
        -- stderr --
        error: no query unknown
        -- exit 2 --
    "#]],
    );
    scene.check(
        "workflow signal order-1 --name finish",
        expect![[r#"
        Signal workflow succeeded
    "#]],
    );
    scene.json("workflow result order-1");
    scene.check(
        "workflow query order-1 --name state --reject-condition not_open",
        expect![[r#"
        -- stderr --
        error: query was rejected, workflow has status: Completed
        -- exit 4 --
    "#]],
    );
}

#[test]
fn updates_are_accepted_answered_and_refused() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    let update =
        "workflow update execute order-1 --name add --update-id one --input '{\"sku\": 7}'";
    scene.check(
        update,
        expect![[r#"
              Name  add
              UpdateId  one
              Result  {"sku":7}
        "#]],
    );
    let start = "workflow update start order-1 --name add --update-id two --input 2";
    scene.check(
        start,
        expect![[r#"
              Name  add
              UpdateId  two
        "#]],
    );
    scene.check(
        "workflow update result order-1 --update-id two",
        expect![[r#"
              UpdateId  two
              Result  2
        "#]],
    );
    scene.check(
        "workflow update describe order-1 --update-id two",
        expect![[r#"
              UpdateId  two
              Stage  Completed
              Result  2
        "#]],
    );
    scene.check(
        "workflow update execute order-1 --name refuse",
        expect![[r#"
        -- stderr --
        error: unable to update workflow: refused
        -- exit 1 --
    "#]],
    );
    scene.check(
        "workflow update result order-1 --update-id three",
        expect![[r#"
        -- stderr --
        error: update "three" not found
        -- exit 3 --
    "#]],
    );
}

#[test]
fn a_signal_or_an_update_starts_what_does_not_run() {
    let scene = Scene::new();
    let start = "--type Waits -t main -w order-1";
    let signal = format!("workflow signal-with-start {start} --signal-name add --signal-input 1");
    scene.check(
        &signal,
        expect![[r#"
        Running execution:
          WorkflowId  order-1
          RunId  <uuid>
          Type  Waits
          Namespace  default
    "#]],
    );
    let update = format!(
        "workflow execute-update-with-start {start} --update-name add --update-id u --update-input 2"
    );
    scene.check(
        &update,
        expect![[r#"
            -- stderr --
            error: missing policy for a running workflow: --id-conflict-policy UseExisting or Fail
            -- exit 2 --
        "#]],
    );
    scene.check(
        &format!("{update} --id-conflict-policy UseExisting"),
        expect![[r#"
        Running execution:
          WorkflowId  order-1
          RunId  <uuid>
          Type  Waits
          Namespace  default
          UpdateName  add
          UpdateId  u
          UpdateResult  2
    "#]],
    );
    let update = format!(
        "workflow start-update-with-start {start} --id-conflict-policy UseExisting \
         --update-name add --update-id v --update-wait-for-stage accepted"
    );
    scene.check(
        &update,
        expect![[r#"
        Running execution:
          WorkflowId  order-1
          RunId  <uuid>
          Type  Waits
          Namespace  default
          UpdateName  add
          UpdateId  v
    "#]],
    );
    scene.check(
        &format!("{update} --run-id x"),
        expect![[r#"
            -- stderr --
            error: Invalid RunId.
            -- exit 2 --
        "#]],
    );
    scene.check(
        "workflow signal-with-start --type Waits -t main --signal-name add",
        expect![[r#"
            -- stderr --
            error: missing workflow id: --workflow-id ID
            -- exit 2 --
        "#]],
    );
}
