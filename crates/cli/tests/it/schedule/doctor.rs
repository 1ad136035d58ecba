//! The doctor finds problems.

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
    let said = server.says(&["doctor", "--namespace=nope"]);
    assert!(said.contains("Namespace nope is not found."), "{said}");
}

#[test]
fn a_server_that_isnt_there_is_told_as_such() {
    let said = said_by(&mut perennial(&["doctor", "--address=127.0.0.1:1"]));
    assert!(said.contains("cannot reach the server at 127.0.0.1:1"), "{said}");
    assert!(said.ends_with("-- exit 5 --\n"), "{said}");
}
