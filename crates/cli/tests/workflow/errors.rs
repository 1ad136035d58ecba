//! What is said when it can't be done.

use expect_test::expect;

use crate::scene::{Scene, alone, blanked};

#[test]
fn what_is_missing_or_wrong_is_said() {
    let scene = Scene::new();
    scene.check("workflow describe nobody", expect![[""]]);
    scene.check("workflow describe", expect![[""]]);
    scene.check("workflow cancel", expect![[""]]);
    scene.check("workflow cancel order-1 --query x", expect![[""]]);
    scene.check("workflow start --type Waits", expect![[""]]);
    scene.check("workflow start --task-queue main", expect![[""]]);
    scene.check("workflow start --type Waits -t main --input text", expect![[""]]);
    scene.check("workflow list --query 'Nonsense ='", expect![[""]]);
    scene.check("workflow list --namespace nobody", expect![[""]]);
    scene.check("workflow result nobody", expect![[""]]);
    scene.check("activity start --activity-id 1", expect![[""]]);
    scene.check("workflow result", expect![[""]]);
}

#[test]
fn waiting_ends_when_the_user_says_so() {
    let scene = Scene::new();
    scene.json("workflow start --type Waits -t main -w order-1");
    scene.check("workflow result order-1 --command-timeout 200ms", expect![[""]]);
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_so() {
    expect![[""]].assert_eq(&blanked(&alone("workflow list --address 127.0.0.1:1")));
}
