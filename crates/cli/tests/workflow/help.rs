//! What the commands say of themselves.

use expect_test::{Expect, expect};

use crate::scene::alone;

fn check(line: &str, expected: Expect) {
    expected.assert_eq(&alone(line));
}

#[test]
fn groups_list_their_commands() {
    check("workflow -h", expect![[""]]);
    check("activity -h", expect![[""]]);
    check("task-queue -h", expect![[""]]);
    check("batch -h", expect![[""]]);
    check("operator -h", expect![[""]]);
    check("operator namespace -h", expect![[""]]);
}

#[test]
fn commands_have_examples() {
    check("workflow start -h", expect![[""]]);
    check("workflow cancel -h", expect![[""]]);
    check("workflow show --help", expect![[""]]);
    check("workflow update execute -h", expect![[""]]);
    check("operator namespace create -h", expect![[""]]);
}

#[test]
fn every_command_has_an_example() {
    let groups = [
        (
            "workflow",
            "start execute list count describe show trace result signal signal-with-start query stack \
             metadata start-update-with-start execute-update-with-start cancel terminate delete reset \
             pause unpause update-options fix-history-json",
        ),
        ("workflow update", "execute start result describe"),
        ("activity", "complete fail cancel pause unpause reset update-options"),
        ("task-queue", "describe list-partition"),
        ("batch", "list describe terminate"),
        ("operator namespace", "create describe list update delete"),
        ("operator search-attribute", "create list remove"),
        ("operator cluster", "health describe system list"),
    ];
    for (group, commands) in groups {
        for command in commands.split_whitespace() {
            let said = alone(&format!("{group} {command} -h"));
            assert!(said.contains("Examples:\n  perennial "), "{group} {command}: {said}");
        }
    }
}
