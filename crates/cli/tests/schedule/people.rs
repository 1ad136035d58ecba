//! What people see.

use expect_test::{Expect, expect};

use crate::server::Server;
use crate::{create, steady};

fn check(server: &Server, args: &[&str], expected: Expect) {
    expected.assert_eq(&steady(&server.says(&[args, &["--time-format=iso"]].concat())));
}

#[test]
fn describe_says_what_it_does_what_it_did_and_what_it_will_do() {
    let server = Server::start();
    create(
        &server,
        "payroll",
        &[
            "--time-zone=Europe/Oslo",
            "--overlap-policy=BufferOne",
            "--pause-on-failure",
            "--notes=every new year",
            "--workflow-id=pay",
            r#"--input={"dry":false}"#,
            "--max-runs=3",
            "--catchup-mode=one",
        ],
    );
    server.says(&["schedule", "trigger", "payroll", "--scheduled-time=2099-01-01T00:00:00Z"]);
    check(&server, &["schedule", "describe", "payroll"], expect![[]]);
}

#[test]
fn lists_fit_the_terminal() {
    let server = Server::start();
    create(&server, "payroll", &["--notes=every new year"]);
    create(&server, "invoices", &["--paused", "--time-zone=Europe/Oslo"]);
    check(&server, &["schedule", "list"], expect![[]]);
    check(&server, &["schedule", "list", "--long"], expect![[]]);
    let mut narrow = server.command(&["schedule", "list", "--time-format=iso"]);
    narrow.env("COLUMNS", "46");
    expect![[]].assert_eq(&crate::perennial::said_by(&mut narrow));
    check(
        &server,
        &["schedule", "list", "--query", "TemporalSchedulePaused = true", "--time-format=iso"],
        expect![[]],
    );
}

#[test]
fn times_are_shown_on_the_clock_here_with_the_schedules_beside_it() {
    let server = Server::start();
    create(&server, "payroll", &["--time-zone=Europe/Oslo"]);
    let mut command = server.command(&["schedule", "describe", "payroll"]);
    let said = crate::perennial::said_by(command.env("TZ", "America/New_York"));
    let times: Vec<&str> = said.lines().skip_while(|line| !line.starts_with("Next")).collect();
    assert!(times[1].starts_with("Europe/Oslo                 America/New_York"), "{said}");
    assert!(
        times[2].starts_with("2099-01-01 09:00:00 +01:00  2099-01-01 03:00:00 -05:00  in "),
        "{said}"
    );
}

#[test]
fn triggers_say_what_came_of_them_and_the_ledger_keeps_it() {
    let server = Server::start();
    create(&server, "payroll", &[]);
    let trigger = ["schedule", "trigger", "payroll", "--identity=tester"];
    let at = ["--scheduled-time=2099-01-01T00:00:00Z"];
    check(&server, &[&trigger[..], &at[..]].concat(), expect![[]]);
    check(&server, &trigger, expect![[]]);
    check(&server, &[&trigger[..], &["--overlap-policy=BufferAll"]].concat(), expect![[]]);
    check(&server, &["schedule", "ledger", "payroll"], expect![[]]);
    check(&server, &["schedule", "ledger", "payroll", "--manual"], expect![[]]);
    check(&server, &["schedule", "why", "payroll", "2099-01-01T09:00"], expect![[]]);
    check(&server, &["schedule", "why", "--sid=payroll", "2099-01-01T09:01"], expect![[]]);
}

#[test]
fn history_tells_who_did_what() {
    let server = Server::start();
    create(&server, "payroll", &[]);
    let by = ["--identity=tester"];
    server.says(&[&["schedule", "pause", "payroll", "--reason=a break"], &by[..]].concat());
    server.says(&[&["schedule", "resume", "payroll"], &by[..]].concat());
    server.says(&[&["schedule", "update", "payroll", "--notes=x"], &by[..]].concat());
    server.says(&[&["schedule", "delete", "payroll", "--reason=moved"], &by[..]].concat());
    check(&server, &["schedule", "history", "payroll"], expect![[]]);
    check(&server, &["schedule", "history", "payroll", "--limit=2"], expect![[]]);
    check(&server, &["schedule", "list", "--deleted"], expect![[]]);
}

#[test]
fn preview_and_explain_need_no_server() {
    let spec = ["--cron=0 2 L * *", "--time-zone=Europe/Oslo", "--from=2026-11-15T12:00:00Z"];
    let nowhere = |command: &str| {
        let args = [&["schedule", command], &spec[..], &["--count=2"]].concat();
        crate::perennial::said_by(&mut crate::perennial::perennial(&args))
    };
    expect![[]].assert_eq(&nowhere("preview"));
    expect![[]].assert_eq(&nowhere("explain"));
}
