//! Error messages have a hint, and exit codes distinguish errors.

use expect_test::expect;

use super::create;
use crate::perennial::{perennial, said_by};
use crate::server::Server;

#[test]
fn a_server_that_isnt_there_ends_with_5() {
    let said = said_by(&mut perennial(&["schedule", "list", "--address", "127.0.0.1:1"]));
    expect![[r#"
        -- stderr --
        error: cannot reach the server at 127.0.0.1:1: Connection refused (os error 111)
        is it running? `perennial server start-dev` starts a server; --address connects to another one
        -- exit 5 --
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_isnt_there_ends_with_3_and_what_is_already_with_4() {
    let server = Server::start();
    expect![[r#"
        -- stderr --
        error: schedule not found
        `perennial schedule list` lists the schedules; --namespace selects another namespace
        -- exit 3 --
    "#]]
    .assert_eq(&server.says(&["schedule", "describe", "nope"]));
    expect![[r#"
        -- stderr --
        error: Namespace nope is not found.
        `perennial operator namespace list` lists the namespaces; choose one with --namespace
        -- exit 3 --
    "#]]
    .assert_eq(&server.says(&["schedule", "list", "--namespace", "nope"]));
    create(&server, "twice", &[]);
    let args = ["schedule", "create", "twice", "--interval=1h", "--type=T", "--task-queue=q"];
    expect![[r#"
        -- stderr --
        error: schedule "twice" already exists
        -- exit 4 --
    "#]]
    .assert_eq(&server.says(&args));
}

#[test]
fn arguments_that_make_no_sense_end_with_2_before_anything_is_sent() {
    let nowhere = |args: &[&str]| {
        said_by(perennial(&["schedule"]).args(args).args(["--address", "127.0.0.1:1"]))
    };
    expect![[r#"
        -- stderr --
        error: "localhost:port" is not an address; write HOST:PORT, such as localhost:7233
        -- exit 2 --
    "#]]
    .assert_eq(&said_by(&mut perennial(&["schedule", "list", "--address", "localhost:port"])));
    expect![[r#"
        -- stderr --
        error: invalid value 'city=Oslo' for '--memo <KEY=JSON>': the value of city is not JSON (expected value at line 1 column 1); quote text: 'city="Oslo"'

        For more information, try '--help'.
        -- exit 2 --
    "#]]
    .assert_eq(&nowhere(&["create", "x", "--memo", "city=Oslo"]));
    expect![[r#"
        -- stderr --
        error: invalid value 'Sometimes' for '--overlap-policy <POLICY>': write one of Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll

        For more information, try '--help'.
        -- exit 2 --
    "#]]
    .assert_eq(&nowhere(&["create", "x", "--overlap-policy", "Sometimes"]));
    expect![[r#"
        -- stderr --
        error: give a schedule id, or a spec with --cron, --calendar or --interval
        -- exit 2 --
    "#]]
    .assert_eq(&nowhere(&["preview"]));
}

#[test]
fn a_spec_is_pointed_at_where_it_is_wrong() {
    let server = Server::start();
    let create =
        |when: &str| server.says(&["schedule", "create", "x", "--type=T", "--task-queue=q", when]);
    expect![[r#"
        -- stderr --
        error: --cron: hour 25 is out of range 0–23
          0 25 * * *
            ^^
        -- exit 2 --
    "#]]
    .assert_eq(&create("--cron=0 25 * * *"));
    expect![[r#"
        -- stderr --
        error: --calendar: "minutes" is not a field of a calendar; did you mean minute?
          {"minutes":"3"}
            ^^^^^^^
        -- exit 2 --
    "#]]
    .assert_eq(&create(r#"--calendar={"minutes":"3"}"#));
    expect![[r#"
        -- stderr --
        error: Invalid schedule spec: unknown time zone "Europe/Olso"; did you mean "Europe/Oslo"?
        -- exit 2 --
    "#]]
    .assert_eq(&create("--time-zone=Europe/Olso"));
}

#[test]
fn a_connection_that_breaks_is_no_success() {
    let rude = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = rude.local_addr().unwrap().to_string();
    std::thread::spawn(move || rude.incoming().for_each(drop));
    let said = said_by(&mut perennial(&["schedule", "list", "--address", &address]));
    assert!(said.starts_with("-- stderr --\nerror: "), "{said}");
    assert!(said.ends_with("-- exit 5 --\n"), "{said}");
}

#[test]
fn a_command_that_takes_too_long_ends_with_6() {
    // Takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let args = ["schedule", "list", "--command-timeout=300ms", "--address", &address];
    let said = said_by(&mut perennial(&args));
    expect![[r#"
        -- stderr --
        error: timed out after 300ms (--command-timeout); the server may still complete the request
        -- exit 6 --
    "#]]
    .assert_eq(&said);
}
