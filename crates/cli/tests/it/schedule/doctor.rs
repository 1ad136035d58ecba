//! The doctor finds problems.

use tempfile::tempdir;

use super::create;
use crate::perennial::{perennial, said_by};
use crate::server::Server;

#[test]
fn a_healthy_server_is_found_well() {
    let server = Server::start();
    let findings = server.json(&["doctor"]);
    let checks: Vec<(&str, &str)> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["check"].as_str().unwrap(), it["result"].as_str().unwrap()))
        .collect();
    assert_eq!(
        checks,
        [
            ("settings", "good"),
            ("connection", "good"),
            ("health", "good"),
            ("server", "good"),
            ("database", "good"),
            ("sync", "good"),
            ("lag", "good"),
            ("waiting tasks", "good"),
            ("namespace", "good"),
            ("search attributes", "good"),
            ("clock", "good"),
            ("workflow tasks", "good"),
            ("keeping up", "good"),
        ]
    );
}

#[test]
fn a_queue_that_nobody_polls_and_a_missing_namespace_are_bad() {
    let server = Server::start();
    create(&server, "payroll", &[]);
    let said = server.says(&["doctor"]);
    assert!(said.contains("no worker polls main (of payroll)"), "{said}");
    assert!(said.ends_with("-- exit 1 --\n"), "{said}");
    assert!(said.contains("1 schedule checked, none overdue"), "{said}");
    let said = server.says(&["doctor", "--namespace=nope"]);
    assert!(said.contains("Namespace nope is not found."), "{said}");
}

#[test]
fn a_workflow_without_workers_is_bad_for_its_namespace_and_for_the_server() {
    let server = Server::start();
    let start = ["workflow", "start", "--type=Order", "--task-queue=orders", "-w=order-7"];
    server.json(&start);
    let said = server.says(&["doctor"]);
    assert!(said.contains("no worker polls orders (of order-7)"), "{said}");
    let waiting =
        "no worker has polled these task queues for a minute: orders of default (1 workflow task";
    assert!(said.contains(waiting), "{said}");
}

#[test]
fn a_caller_with_a_role_in_one_namespace_is_told_that_the_server_itself_isnt_checked() {
    let folder = tempdir().unwrap();
    let db = folder.path().join("perennial.db");
    let key =
        perennial(&["operator", "api-key", "create", "--name=ci", "--role=read", "-n=default"])
            .args(["--output=json", "--db"])
            .arg(&db)
            .output()
            .unwrap();
    let key: serde_json::Value = serde_json::from_slice(&key.stdout).unwrap();
    let db = db.to_str().unwrap();
    let server = Server::start_with(&["--db", db, "--port=0", "--http-port=0", "--auth=required"]);
    let key = key["secret"].as_str().unwrap();
    let said = server.says(&["doctor", "--tls=false", "--api-key", key]);
    let note = "not allowed to look at the server itself; needs the role read on the whole server";
    assert!(said.contains(note), "{said}");
    assert!(!said.contains("database"), "{said}");
}

#[test]
fn a_server_that_isnt_there_is_told_as_such() {
    let said = said_by(&mut perennial(&["doctor", "--address=127.0.0.1:1"]));
    assert!(said.contains("cannot reach the server at 127.0.0.1:1"), "{said}");
    assert!(said.ends_with("-- exit 5 --\n"), "{said}");
}
