//! An update changes only the given settings.

use super::create;
use crate::server::Server;

const EVERYTHING: [&str; 12] = [
    "--input",
    r#"{"a":1}"#,
    "--memo",
    r#"team="pay""#,
    "--overlap-policy=BufferAll",
    "--jitter=30s",
    "--time-zone=Europe/Oslo",
    "--exclude=* * * 25 12 * *",
    "--pause-on-failure",
    "--notes=first",
    "--workflow-id=payroll",
    "--run-timeout=1h",
];

#[test]
fn what_isnt_given_stays() {
    let server = Server::start();
    create(&server, "payroll", &EVERYTHING);
    let before = server.json(&["schedule", "describe", "payroll"])["schedule"].clone();
    assert_eq!(before["action"]["startWorkflow"]["input"][0]["a"], 1);

    let said = server.says(&["schedule", "update", "payroll", "--notes", "second"]);
    assert_eq!(said, "Updated payroll\n");
    let mut expected = before.clone();
    expected["state"]["notes"] = "second".into();
    assert_eq!(server.json(&["schedule", "describe", "payroll"])["schedule"], expected);

    server.says(&["schedule", "update", "payroll", "--cron", "0 9 2 1 * 2099"]);
    expected["spec"]["structuredCalendar"][0]["dayOfMonth"][0]["start"] = 2.into();
    expected["spec"]["structuredCalendar"][0]["dayOfMonth"][0]["end"] = 2.into();
    assert_eq!(server.json(&["schedule", "describe", "payroll"])["schedule"], expected);

    server.says(&["schedule", "update", "payroll", "--task-queue", "other"]);
    expected["action"]["startWorkflow"]["taskQueue"]["name"] = "other".into();
    assert_eq!(server.json(&["schedule", "describe", "payroll"])["schedule"], expected);
}

#[test]
fn what_is_cleared_goes_and_replace_leaves_nothing() {
    let server = Server::start();
    create(&server, "payroll", &EVERYTHING);
    server.says(&["schedule", "update", "payroll", "--clear=input", "--clear=jitter"]);
    let shown = server.json(&["schedule", "describe", "payroll"])["schedule"].clone();
    assert!(shown["action"]["startWorkflow"].get("input").is_none());
    assert!(shown["spec"].get("jitter").is_none());
    assert_eq!(shown["spec"]["timezoneName"], "Europe/Oslo");

    let replaced = ["--replace", "--interval=1h", "--type=Other", "--task-queue=other"];
    server.says(&[&["schedule", "update", "payroll"], &replaced[..]].concat());
    let shown = server.json(&["schedule", "describe", "payroll"])["schedule"].clone();
    assert!(shown["action"]["startWorkflow"].get("memo").is_none());
    assert!(shown["spec"].get("timezoneName").is_none());
    assert!(shown["state"].get("notes").is_none());
}

#[test]
fn what_only_perennial_has_changes_beside_the_rest() {
    let server = Server::start();
    create(&server, "payroll", &["--catchup-mode=latest", "--max-runs=5"]);
    server.says(&["schedule", "update", "payroll", "--max-runs=7", "--notes=more"]);
    let shown = server.json(&["schedule", "describe", "payroll"]);
    assert_eq!(shown["extensions"]["catchupMode"], "CATCHUP_MODE_LATEST");
    assert_eq!(shown["extensions"]["maxRuns"], "7");
    assert_eq!(shown["schedule"]["state"]["notes"], "more");

    server.says(&["schedule", "update", "payroll", "--notes=even more"]);
    let shown = server.json(&["schedule", "describe", "payroll"]);
    assert_eq!(shown["extensions"]["maxRuns"], "7");
}

#[test]
fn an_update_without_a_change_says_so() {
    let server = Server::start();
    create(&server, "payroll", &[]);
    assert_eq!(
        server.says(&["schedule", "update", "payroll"]),
        "-- stderr --\nerror: nothing to change: give at least one flag, see --help\n-- exit 2 --\n"
    );
}
