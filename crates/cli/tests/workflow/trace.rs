//! The tree of a workflow.

use expect_test::expect;

use crate::scene::Scene;

#[test]
fn the_tree_has_activities_timers_and_children() {
    let scene = Scene::new();
    scene.json("workflow start --type Parent -t main -w order-1");
    scene.until("workflow trace order-1", |it| it["steps"][2]["workflow"]["status"] == "Running");
    scene.check("workflow trace order-1", expect![[""]]);
    scene.check("workflow trace order-1 --depth 0 --no-fold", expect![[""]]);
    scene.json("workflow terminate order-1-child");
    scene.json("activity fail -w order-1 -a charge --reason 'card declined'");
    scene.until("workflow trace order-1", |it| it["status"] == "Failed");
    scene.check("workflow trace order-1 --no-fold", expect![[""]]);
    scene.check("workflow trace nobody", expect![[""]]);
}
