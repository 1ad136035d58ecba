//! Error messages.

use expect_test::expect;

use super::scene::{Scene, alone, blanked};

#[test]
fn what_is_missing_or_wrong_is_said() {
    let scene = Scene::new();
    scene.check(
        "workflow describe nobody",
        expect![[r#"
        -- stderr --
        error: workflow not found for ID: nobody
        -- exit 3 --
    "#]],
    );
    scene.check(
        "workflow describe",
        expect![[r#"
        -- stderr --
        error: the following required arguments were not provided:
          <WORKFLOW_ID>

        Usage: perennial workflow describe --command-timeout <DURATION> <WORKFLOW_ID>

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
    scene.check(
        "workflow cancel",
        expect![[r#"
            -- stderr --
            error: missing target: give --workflow-id ID for one workflow, or --query FILTER for many
            -- exit 2 --
        "#]],
    );
    scene.check(
        "workflow cancel order-1 --query x",
        expect![[r#"
        -- stderr --
        error: the argument '[WORKFLOW_ID]' cannot be used with '--query <FILTER>'

        Usage: perennial workflow cancel --command-timeout <DURATION> <WORKFLOW_ID>

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
    scene.check(
        "workflow start --type Waits",
        expect![[r#"
            -- stderr --
            error: missing task queue: --task-queue NAME
            -- exit 2 --
        "#]],
    );
    scene.check(
        "workflow start --task-queue main",
        expect![[r#"
            -- stderr --
            error: missing workflow type: --type NAME
            -- exit 2 --
        "#]],
    );
    scene.check("workflow start --type Waits -t main --input text", expect![[r#"
        -- stderr --
        error: --input: not JSON: expected ident at line 1 column 2; quote text: '"text"'; for other data set --input-meta encoding=…
        -- exit 2 --
    "#]]);
    scene.check(
        "workflow list --query 'Nonsense ='",
        expect![[r#"
        -- stderr --
        error: invalid query: malformed SQL query: syntax error at position 11
        -- exit 2 --
    "#]],
    );
    scene.check(
        "workflow list --namespace nobody",
        expect![[r#"
            -- stderr --
            error: Namespace nobody is not found.
            `perennial operator namespace list` lists the namespaces; choose one with --namespace
            -- exit 3 --
        "#]],
    );
    scene.check(
        "workflow result nobody",
        expect![[r#"
        -- stderr --
        error: workflow not found for ID: nobody
        -- exit 3 --
    "#]],
    );
    scene.check("activity start --activity-id 1", expect![[r#"
        -- stderr --
        error: Perennial has no activities without a workflow; `perennial workflow describe` shows the activities of a workflow
        -- exit 1 --
    "#]]);
    scene.check(
        "workflow result",
        expect![[r#"
        -- stderr --
        error: the following required arguments were not provided:
          <WORKFLOW_ID>

        Usage: perennial workflow result --command-timeout <DURATION> <WORKFLOW_ID>

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
}

#[test]
fn waiting_ends_when_the_user_says_so() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    scene.check(
        "workflow result order-1 --command-timeout 200ms",
        expect![[r#"
            -- stderr --
            error: timed out after <took> (--command-timeout); the server may still complete the request
            -- exit 6 --
        "#]],
    );
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_so() {
    expect![[r#"
        -- stderr --
        error: cannot reach the server at 127.0.0.1:1: Connection refused (os error 111)
        is it running? `perennial server start-dev` starts a server; --address connects to another one
        -- exit 5 --
    "#]]
    .assert_eq(&blanked(&alone("workflow list --address 127.0.0.1:1")));
}
