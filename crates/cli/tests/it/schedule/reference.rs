//! Commands from the reference documentation of other tools, as they are typed there.

use expect_test::expect;
use serde_json::json;

use super::steady;
use crate::server::Server;

const CREATE: &str = r#"
tctl schedule create \
    --sid 'my-schedule-id' \
    --interval '5h/15m' \
    --cal '{"dayOfWeek":"Fri","hour":"11","minute":"3"}' \
    --overlap-policy 'BufferAll' \
    --wid 'my-workflow-id' \
    --tq 'my-task-queue' \
    --type 'MyWorkflowType'
"#;

#[test]
fn create_makes_the_schedule_that_is_described() {
    let server = Server::start();
    assert_eq!(server.typed(CREATE, "tctl"), "Created my-schedule-id\n");
    let shown = server.json(&["schedule", "describe", "--sid", "my-schedule-id"]);
    let schedule = &shown["schedule"];
    // Every 5 hours at 15 minutes past the hour, and also at 11:03 on Fridays.
    assert_eq!(schedule["spec"]["interval"], json!([{"interval": "18000s", "phase": "900s"}]));
    let calendar = &schedule["spec"]["structuredCalendar"][0];
    assert_eq!(calendar["hour"], json!([{"start": 11, "end": 11, "step": 1}]));
    assert_eq!(calendar["minute"], json!([{"start": 3, "end": 3, "step": 1}]));
    assert_eq!(calendar["dayOfWeek"], json!([{"start": 5, "end": 5, "step": 1}]));
    let action = &schedule["action"]["startWorkflow"];
    assert_eq!(action["workflowType"]["name"], "MyWorkflowType");
    assert_eq!(action["taskQueue"]["name"], "my-task-queue");
    assert_eq!(action["workflowId"], "my-workflow-id");
    assert_eq!(schedule["policies"]["overlapPolicy"], "SCHEDULE_OVERLAP_POLICY_BUFFER_ALL");
}

#[test]
fn describe_list_toggle_trigger_backfill_and_delete_work_as_typed() {
    let server = Server::start();
    server.typed(CREATE, "tctl");
    let said = server.typed(
        r#"
tctl schedule toggle --sid 'my-schedule-id' --pause --reason "paused because the database is down"
tctl schedule list --time-format iso | head -1
tctl schedule describe --sid 'my-schedule-id' | grep -E 'status|notes'
tctl schedule toggle --sid 'my-schedule-id' --unpause --reason "the database is back up" | cut -c1-23
tctl schedule describe --sid 'my-schedule-id' | grep -E 'status|notes'
tctl schedule trigger --sid 'my-schedule-id' | cut -c1-23
tctl schedule trigger --sid 'my-schedule-id'
tctl schedule trigger --sid 'my-schedule-id' --overlap-policy 'AllowAll' | cut -c1-23
tctl schedule backfill --sid 'my-schedule-id'   \
  --overlap-policy 'BufferAll'                    \
  --start-time '2022-05-01T00:00:00Z'             \
  --end-time   '2022-05-31T23:59:59Z' | cut -d' ' -f3-4
tctl schedule ledger my-schedule-id --manual --all -o jsonl | wc -l | tr -d ' '
tctl schedule delete --sid 'my-schedule-id'
tctl schedule list
"#,
        "tctl",
    );
    expect![[r#"
        Paused my-schedule-id
        Schedule  Status  Next  Last  Workflow  When
          status  paused
          notes  paused because the database is down
        Resumed my-schedule-id;
          status  active
          notes  the database is back up
        Started my-workflow-id-
        Buffered: starts when the current run ends
        Started my-workflow-id-
        is running
        156
        Deleted my-schedule-id
        -- stderr --
        no schedules in the namespace default
    "#]]
    .assert_eq(&steady(&said));
}

#[test]
fn history_and_evaluate_have_the_names_of_durable_workflow() {
    let server = Server::start();
    server.typed(CREATE, "tctl");
    let said = server.typed(
        r#"
dw schedule:history my-schedule-id --output=jsonl --limit 1 | cut -c1-48
dw schedule:history my-schedule-id --output=json | tail -4
dw schedule:evaluate --limit=100 --json
"#,
        "dw",
    );
    expect![[r#"
        {"sequence":1,"event_type":"ScheduleCreated","re
          ],
          "has_more": false,
          "next_cursor": null
        }
        []
    "#]]
    .assert_eq(&said);
}

#[test]
fn on_demand_server_starts_what_is_due_when_it_is_asked() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("on-demand-{}.db", std::process::id()));
    let server = Server::start_with(&[
        "--db",
        file.to_str().unwrap(),
        "--port",
        "0",
        "--http-port",
        "0",
        "--schedule-evaluation",
        "on-demand",
        "--log-level",
        "never",
    ]);
    let created =
        server.says(&["schedule", "create", "tick", "--interval=1s", "--type=T", "--task-queue=q"]);
    assert_eq!(created, "Created tick\n");
    // The time has to come; how many looks that takes doesn't matter.
    let evaluated = loop {
        let evaluated = server.json(&["schedule:evaluate", "--limit=100"]);
        if evaluated.as_array().is_some_and(|all| !all.is_empty()) {
            break evaluated[0].clone();
        }
    };
    let keys: Vec<&String> = evaluated.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "namespace",
            "schedule_id",
            "instance_id",
            "outcome",
            "occurrence_time",
            "last_fired_at",
            "next_fire_at",
            "run_id",
            "reason",
            "count"
        ]
    );
    assert_eq!(evaluated["schedule_id"], "tick");
    assert_eq!(evaluated["outcome"], "triggered");
}
