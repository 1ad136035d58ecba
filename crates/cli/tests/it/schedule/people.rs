//! Text output.

use expect_test::{Expect, expect};

use super::{create, steady};
use crate::server::Server;

fn check(server: &Server, args: &[&str], expected: Expect) {
    expected.assert_eq(&steady(&server.says(&[args, &["--time-format=iso"]].concat())));
}

/// The same, down to the widths of columns: for what holds no present times.
fn check_exactly(server: &Server, args: &[&str], expected: Expect) {
    expected.assert_eq(&server.says(&[args, &["--time-format=iso"]].concat()));
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
    check(
        &server,
        &["schedule", "describe", "payroll"],
        expect![[r#"
            Schedule payroll
              status  active
              notes  every new year
              next  2099-01-01T08:00:00Z
              last  <now>
              namespace  default

            When
              in words  At 09:00 on 1 January 2099, Europe/Oslo time.
              times  0 9 1 1 * 2099
              zone  Europe/Oslo

            What
              workflow type  Payroll
              task queue  main
              workflow id  pay
              input  {"dry":false}

            How
              overlap policy  BufferOne
              catch-up window  365d
              catches up  the earliest missed time
              deleted after  3 runs, 2 left
              on failure  pauses

            So far
              actions  1
              created  <now>
              running  pay-2099-01-01T00:00:00Z

            Recent runs
            Scheduled  Started  Workflow id  Status
            2099-01-01T00:00:00Z  <now>  pay-2099-01-01T00:00:00Z  running

            Next times
            UTC
            2099-01-01T08:00:00Z
        "#]],
    );
}

#[test]
fn lists_fit_the_terminal() {
    let server = Server::start();
    create(&server, "payroll", &["--notes=every new year"]);
    create(&server, "invoices", &["--paused", "--time-zone=Europe/Oslo"]);
    check_exactly(
        &server,
        &["schedule", "list"],
        expect![[r#"
        Schedule  Status  Next                  Last  Workflow  When
        invoices  paused                              Payroll   0 9 1 1 * 2099
        payroll   active  2099-01-01T09:00:00Z        Payroll   0 9 1 1 * 2099
    "#]],
    );
    check_exactly(
        &server,
        &["schedule", "list", "--long"],
        expect![[r#"
        Schedule  Status  Next                  Last  Workflow  When            Zone         Notes
        invoices  paused                              Payroll   0 9 1 1 * 2099  Europe/Oslo
        payroll   active  2099-01-01T09:00:00Z        Payroll   0 9 1 1 * 2099               every new year
    "#]],
    );
    let mut narrow = server.command(&["schedule", "list", "--time-format=iso"]);
    narrow.env("COLUMNS", "46");
    expect![[r#"
        Schedule  Status  Next                  Last
        invoices  paused
        payroll   active  2099-01-01T09:00:00Z
    "#]]
    .assert_eq(&crate::perennial::said_by(&mut narrow));
    check(
        &server,
        &["schedule", "list", "--query", "TemporalSchedulePaused = true"],
        expect![[r#"
            Schedule  Status  Next  Last  Workflow  When
            invoices  paused  Payroll  0 9 1 1 * 2099
        "#]],
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
    check(
        &server,
        &[&trigger[..], &at[..]].concat(),
        expect![[r#"
        Started payroll-2099-01-01T00:00:00Z (run <id>)
    "#]],
    );
    check(
        &server,
        &trigger,
        expect![[r#"
            Skipped, nothing was started: another run is still going, and the overlap policy skips this one
        "#]],
    );
    check(
        &server,
        &[&trigger[..], &["--overlap-policy=BufferAll"]].concat(),
        expect![[r#"
            Buffered: starts when the current run ends
        "#]],
    );
    check(
        &server,
        &["schedule", "ledger", "payroll"],
        expect![[r#"
        -- stderr --
        no time has a verdict yet
    "#]],
    );
    check(
        &server,
        &["schedule", "ledger", "payroll", "--manual"],
        expect![[r#"
            Time  Verdict  Run  Why  Decided
            2099-01-01T00:00:00Z  fired  payroll-2099-01-01T00:00:00Z  trigger  <now>
            <now>  buffered  trigger  <now>
            <now>  skipped  another run is still going, and the overlap policy skips this one  <now>
        "#]],
    );
    check(
        &server,
        &["schedule", "why", "payroll", "2099-01-01T09:00"],
        expect![[r#"
            It hasn't come yet: it will fire at 2099-01-01T09:00:00Z. Nothing is started if the schedule is paused, changed or deleted before, or if another run is still going (overlap policy skip), or if no server evaluates it within its catch-up window.
        "#]],
    );
    // A fraction of a second doesn't count.
    check(
        &server,
        &["schedule", "why", "payroll", "2099-01-01T09:00:00.999999999", "--output=json"],
        expect![[r#"
            {
              "occurrence": {
              "nominalTime": "2099-01-01T09:00:00Z",
              "until": "2099-01-01T09:00:00Z",
              "verdict": "VERDICT_PENDING"
              },
              "explanation": "It hasn't come yet: it will fire at 2099-01-01T09:00:00Z. Nothing is started if the schedule is paused, changed or deleted before, or if another run is still going (overlap policy skip), or if no server evaluates it within its catch-up window."
            }
        "#]],
    );
    check(
        &server,
        &["schedule", "why", "payroll", "9999-01-01T00:00:00.5Z", "--output=json"],
        expect![[r#"
            {
              "occurrence": {
              "nominalTime": "9999-01-01T00:00:00Z",
              "until": "9999-01-01T00:00:00Z",
              "verdict": "VERDICT_NOT_A_TIME"
              },
              "explanation": "It is none of the schedule's times: the one before is 2099-01-01T09:00:00Z, the one after none."
            }
        "#]],
    );
    check(
        &server,
        &["schedule", "why", "--sid=payroll", "2099-01-01T09:01"],
        expect![[r#"
        It is none of the schedule's times: the one before is 2099-01-01T09:00:00Z, the one after none.
    "#]],
    );
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
    check(
        &server,
        &["schedule", "history", "payroll"],
        expect![[r#"
            Seq  Event  Recorded At  Workflow Refs  Details  By
            1  ScheduleCreated  <now>  next 2099-01-01T09:00:00Z  tester
            2  SchedulePaused  <now>  a break  tester
            3  ScheduleResumed  <now>  next 2099-01-01T09:00:00Z  tester
            4  ScheduleUpdated  <now>  changed notes  tester
            5  ScheduleDeleted  <now>  moved  tester
        "#]],
    );
    check(
        &server,
        &["schedule", "history", "payroll", "--limit=2"],
        expect![[r#"
            Seq  Event  Recorded At  Workflow Refs  Details  By
            1  ScheduleCreated  <now>  next 2099-01-01T09:00:00Z  tester
            2  SchedulePaused  <now>  a break  tester
            -- stderr --
            there are more events: --after-sequence 2 shows the next page, --all shows all
        "#]],
    );
    check(
        &server,
        &["schedule", "list", "--deleted"],
        expect![[r#"
            Schedule  Status  Next  Last  Workflow  When
            payroll  deleted: moved  Payroll  0 9 1 1 * 2099
        "#]],
    );
}

#[test]
fn preview_and_explain_need_no_server() {
    let spec = ["--cron=0 2 L * *", "--time-zone=Europe/Oslo", "--from=2026-11-15T12:00:00Z"];
    let nowhere = |command: &str| {
        let args = [&["schedule", command], &spec[..], &["--count=2"]].concat();
        crate::perennial::said_by(&mut crate::perennial::perennial(&args))
    };
    expect![[r#"
        Europe/Oslo                     UTC                   After --from
        Mon 2026-11-30 02:00:00 +01:00  2026-11-30 01:00:00Z  14 d 13 h
        Thu 2026-12-31 02:00:00 +01:00  2026-12-31 01:00:00Z  1 mo 15 d
    "#]]
    .assert_eq(&nowhere("preview"));
    expect![[r#"
        At 02:00 on the last day of the month, Europe/Oslo time.

        Warnings
          it fires twice on 2027-10-31: the clock in Europe/Oslo is put back and shows 02:00 twice; DST=once makes it fire once
          it does not fire at 02:00 on 2030-03-31: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:00

        Canonical form
          calendar 1  0 2 L * *
          time zone   Europe/Oslo
          DST policy  literal

        Clock changes
          Sun 2027-10-31 03:00 → 02:00: fires twice at 02:00

        Next times
        Europe/Oslo                     UTC                   After --from
        Mon 2026-11-30 02:00:00 +01:00  2026-11-30 01:00:00Z  14 d 13 h
        Thu 2026-12-31 02:00:00 +01:00  2026-12-31 01:00:00Z  1 mo 15 d
    "#]].assert_eq(&nowhere("explain"));
}
