//! Every command explains itself, with an example.

use expect_test::expect;

use crate::perennial::{perennial, said_by};

#[test]
fn the_groups_list_their_commands() {
    expect![[]].assert_eq(&said_by(&mut perennial(&["schedule", "-h"])));
}

#[test]
fn a_command_has_its_own_flags_first_and_all_of_them_in_the_long_help() {
    expect![[]].assert_eq(&said_by(&mut perennial(&["schedule", "trigger", "-h"])));
    let long = said_by(&mut perennial(&["schedule", "trigger", "--help"]));
    for flag in ["--tls-cert-path", "--profile", "--command-timeout", "--api-key"] {
        assert!(long.contains(flag), "{flag}");
    }
}

#[test]
fn every_command_has_an_example() {
    let listed = said_by(&mut perennial(&["schedule", "-h"]));
    let commands = listed.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        let said = said_by(&mut perennial(&["schedule", name, "-h"]));
        assert!(said.contains("Examples:"), "{name}:\n{said}");
    }
}
