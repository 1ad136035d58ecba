//! Signals, queries and updates.

use expect_test::expect;

use crate::scene::Scene;

#[test]
fn a_workflow_answers_queries() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    scene.check("workflow query order-1 --name state", expect![[""]]);
    scene.check("workflow stack order-1", expect![[""]]);
    scene.check("workflow metadata order-1", expect![[""]]);
    scene.check("workflow query order-1 --name unknown", expect![[""]]);
    scene.check("workflow signal order-1 --name finish", expect![[""]]);
    scene.json("workflow result order-1");
    scene.check("workflow query order-1 --name state --reject-condition not_open", expect![[""]]);
}

#[test]
fn updates_are_accepted_answered_and_refused() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    let update =
        "workflow update execute order-1 --name add --update-id one --input '{\"sku\": 7}'";
    scene.check(update, expect![[""]]);
    let start = "workflow update start order-1 --name add --update-id two --input 2";
    scene.check(start, expect![[""]]);
    scene.check("workflow update result order-1 --update-id two", expect![[""]]);
    scene.check("workflow update describe order-1 --update-id two", expect![[""]]);
    scene.check("workflow update execute order-1 --name refuse", expect![[""]]);
    scene.check("workflow update result order-1 --update-id three", expect![[""]]);
}

#[test]
fn a_signal_or_an_update_starts_what_does_not_run() {
    let scene = Scene::new();
    let start = "--type Waits -t main -w order-1";
    let signal = format!("workflow signal-with-start {start} --signal-name add --signal-input 1");
    scene.check(&signal, expect![[""]]);
    let update = format!(
        "workflow execute-update-with-start {start} --update-name add --update-id u --update-input 2"
    );
    scene.check(&update, expect![[""]]);
    scene.check(&format!("{update} --id-conflict-policy UseExisting"), expect![[""]]);
    let update = format!(
        "workflow start-update-with-start {start} --id-conflict-policy UseExisting \
         --update-name add --update-id v --update-wait-for-stage accepted"
    );
    scene.check(&update, expect![[""]]);
    scene.check(&format!("{update} --run-id x"), expect![[""]]);
    scene.check("workflow signal-with-start --type Waits -t main --signal-name add", expect![[""]]);
}
