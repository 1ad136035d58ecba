//! Task queues.

use expect_test::expect;

use super::scene::Scene;

#[test]
fn a_task_queue_tells_who_polls_it_and_what_waits() {
    let scene = Scene::new();
    scene.until("task-queue describe main", |it| it["pollers"].is_array());
    scene.check(
        "task-queue describe --task-queue main --disable-stats",
        expect![[r#"
        Pollers:
        Type  Identity  LastAccessTime  Build  RatePerSecond
        workflow  worker  <time>  UNVERSIONED  100000
    "#]],
    );
    scene.json("workflow start --type Waits -t elsewhere -w order-1");
    let described = scene.json("task-queue describe elsewhere --task-queue-type workflow");
    assert_eq!(described["stats"][0]["approximateBacklogCount"], 1);
    assert_eq!(described["pollers"], serde_json::Value::Null);
    let said = scene.say("task-queue describe elsewhere");
    assert!(said.contains("no worker polls this task queue"), "{said}");
    scene.check(
        "task-queue list-partition main",
        expect![[r#"
        Kind  Key  OwnerHostName
        workflow  main
        activity  main
    "#]],
    );
    scene.check(
        "task-queue versioning insert-assignment-rule --build-id 7",
        expect![[r#"
            -- stderr --
            error: Perennial has no rules for build ids; `task-queue describe` shows the pollers
            -- exit 1 --
        "#]],
    );
    scene.check("task-queue config get", expect![[r#"
        -- stderr --
        error: Perennial has no configuration of task queues; workers set rate limits (maxTaskQueueActivitiesPerSecond)
        -- exit 1 --
    "#]]);
}
