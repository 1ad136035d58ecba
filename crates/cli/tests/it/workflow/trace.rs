//! The tree of a workflow.

use expect_test::expect;

use super::scene::Scene;

#[test]
fn the_tree_has_activities_timers_and_children() {
    let scene = Scene::new();
    scene.json("workflow start --type Parent -t main -w order-1");
    scene.until("workflow trace order-1", |it| {
        it["steps"][2]["workflow"]["status"] == "Running" && it["steps"][0]["status"] == "Started"
    });
    scene.check(
        "workflow trace order-1",
        expect![[r#"
        order-1  Parent  Running  <took>
        ├─ ChargeCard (charge)  Started  <took>
        ├─ Timer 1h (reminder)  Waiting  <took>
        └─ order-1-child  Waits  Running  <took>
    "#]],
    );
    scene.check(
        "workflow trace order-1 --depth 0 --no-fold",
        expect![[r#"
        order-1  Parent  Running  <took>
        ├─ ChargeCard (charge)  Started  <took>
        ├─ Timer 1h (reminder)  Waiting  <took>
        └─ order-1-child  Waits  Running  <took>
    "#]],
    );
    scene.json("workflow terminate order-1-child");
    scene.json("activity fail -w order-1 -a charge --reason 'card declined'");
    scene.until("workflow trace order-1", |it| it["status"] == "Failed");
    scene.check(
        "workflow trace order-1 --no-fold",
        expect![[r#"
        order-1  Parent  Failed  <took>
        ├─ ChargeCard (charge)  Failed  <took>  card declined
        ├─ Timer 1h (reminder)  Waiting  <took>
        └─ order-1-child  Waits  Terminated  <took>
    "#]],
    );
    scene.check(
        "workflow trace nobody",
        expect![[r#"
        -- stderr --
        error: workflow not found for ID: nobody
        -- exit 3 --
    "#]],
    );
}
