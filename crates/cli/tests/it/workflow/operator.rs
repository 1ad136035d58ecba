//! Namespaces, search attributes and the server itself.

use expect_test::expect;

use super::scene::Scene;

#[test]
fn namespaces_are_created_changed_and_deleted() {
    let scene = Scene::new();
    let create = "operator namespace create shop --retention 30d --description 'orders and carts' \
                  --email shop@example.com --data team=orders";
    scene.check(
        create,
        expect![[r#"
        Namespace shop successfully registered.
    "#]],
    );
    scene.check(
        create,
        expect![[r#"
        -- stderr --
        error: Namespace "shop" already exists
        -- exit 4 --
    "#]],
    );
    scene.check(
        "operator namespace update --namespace shop --retention 60d",
        expect![[r#"
        Namespace shop update succeeded.
    "#]],
    );
    scene.check(
        "operator namespace describe shop",
        expect![[r#"
              Name  shop
              Id  <uuid>
              Description  orders and carts
              OwnerEmail  shop@example.com
              State  Registered
              Retention  60d
              Data  team=orders
              ActiveCluster  active
              HistoryArchival  Disabled
              VisibilityArchival  Disabled
        "#]],
    );
    scene.check(
        "operator namespace list",
        expect![[r#"
        Name  State  Retention  Id  Description  OwnerEmail
        default  Registered  1d  <uuid>
        shop  Registered  60d  <uuid>  orders and carts  shop@example.com
    "#]],
    );
    scene.check_typing("operator namespace delete shop", "y\n", expect![[r#"
        -- stderr --
        Delete the namespace shop with all its workflows and schedules? Type its name to confirm: error: not confirmed, nothing was done; --yes skips the question
        -- exit 1 --
    "#]]);
    scene.check_typing(
        "operator namespace delete shop",
        "shop\n",
        expect![[r#"
        Namespace shop has been deleted.
        -- stderr --
        Delete the namespace shop with all its workflows and schedules? Type its name to confirm:
    "#]],
    );
    scene.check(
        "operator namespace describe nobody",
        expect![[r#"
            -- stderr --
            error: Namespace nobody is not found.
            `perennial operator namespace list` lists the namespaces; choose one with --namespace
            -- exit 3 --
        "#]],
    );
}

#[test]
fn search_attributes_are_added_listed_and_removed() {
    let scene = Scene::new();
    let create = "operator search-attribute create --name Customer --type Keyword --name Amount";
    scene.check(
        create,
        expect![[r#"
        -- stderr --
        error: each --name needs a --type, and there are 2 names and 1 types
        -- exit 2 --
    "#]],
    );
    scene.check(
        &format!("{create} --type int"),
        expect![[r#"
        Search attributes have been added
    "#]],
    );
    scene.check(
        "operator search-attribute create --name Customer --type Text",
        expect![[r#"
        -- stderr --
        error: search attribute Customer already exists and has different type Keyword
        -- exit 4 --
    "#]],
    );
    let listed = scene.say("operator search-attribute list");
    assert!(listed.contains("Amount  "), "{listed}");
    scene.check_typing(
        "operator search-attribute remove --name Amount",
        "yes\n",
        expect![[r#"
        Search attributes have been removed
        -- stderr --
        Remove the search attribute Amount? y/N
    "#]],
    );
    let listed = scene.json("operator search-attribute list");
    assert_eq!(listed["customAttributes"]["Amount"], serde_json::Value::Null);
}

#[test]
fn the_server_says_how_and_what_it_is() {
    let scene = Scene::new();
    scene.check(
        "operator cluster health",
        expect![[r#"
        SERVING
    "#]],
    );
    scene.check(
        "operator cluster describe",
        expect![[r#"
              ClusterName  active
              PersistenceStore  sqlite
              VisibilityStore  sqlite
        "#]],
    );
    scene.check(
        "operator cluster list",
        expect![[r#"
        Name  ClusterId  Address  HistoryShardCount  IsConnectionEnabled  IsReplicationEnabled
        active  <uuid>  1  true  false
    "#]],
    );
    assert!(scene.say("operator cluster system").contains("SupportsSchedules"));
    assert!(scene.say("operator cluster describe --detail").contains("HistoryShardCount"));
    scene.check(
        "operator cluster upsert --frontend-address x:1",
        expect![[r#"
            -- stderr --
            error: Perennial has no remote clusters; a server is its only cluster
            -- exit 1 --
        "#]],
    );
    scene.check("operator nexus endpoint list", expect![[r#"
        -- stderr --
        error: Perennial has no Nexus endpoints; use a client to reach workflows in another namespace
        -- exit 1 --
    "#]]);
}
