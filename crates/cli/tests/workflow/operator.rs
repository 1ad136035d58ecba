//! Namespaces, search attributes and the server itself.

use expect_test::expect;

use crate::scene::Scene;

#[test]
fn namespaces_are_created_changed_and_deleted() {
    let scene = Scene::new();
    let create = "operator namespace create shop --retention 30d --description 'orders and carts' \
                  --email shop@example.com --data team=orders";
    scene.check(create, expect![[""]]);
    scene.check(create, expect![[""]]);
    scene.check("operator namespace update --namespace shop --retention 60d", expect![[""]]);
    scene.check("operator namespace describe shop", expect![[""]]);
    scene.check("operator namespace list", expect![[""]]);
    scene.check_typing("operator namespace delete shop", "y\n", expect![[""]]);
    scene.check_typing("operator namespace delete shop", "shop\n", expect![[""]]);
    scene.check("operator namespace describe nobody", expect![[""]]);
}

#[test]
fn search_attributes_are_added_listed_and_removed() {
    let scene = Scene::new();
    let create = "operator search-attribute create --name Customer --type Keyword --name Amount";
    scene.check(create, expect![[""]]);
    scene.check(&format!("{create} --type int"), expect![[""]]);
    scene.check("operator search-attribute create --name Customer --type Text", expect![[""]]);
    let listed = scene.say("operator search-attribute list");
    assert!(listed.contains("Amount  "), "{listed}");
    scene.check_typing("operator search-attribute remove --name Amount", "yes\n", expect![[""]]);
    let listed = scene.json("operator search-attribute list");
    assert_eq!(listed["customAttributes"]["Amount"], serde_json::Value::Null);
}

#[test]
fn the_server_says_how_and_what_it_is() {
    let scene = Scene::new();
    scene.check("operator cluster health", expect![[""]]);
    scene.check("operator cluster describe", expect![[""]]);
    scene.check("operator cluster list", expect![[""]]);
    assert!(scene.say("operator cluster system").contains("SupportsSchedules"));
    assert!(scene.say("operator cluster describe --detail").contains("HistoryShardCount"));
    scene.check("operator cluster upsert --frontend-address x:1", expect![[""]]);
    scene.check("operator nexus endpoint list", expect![[""]]);
}
