//! Backfills: dry run, start, watch, cancel.

use expect_test::expect;

use crate::server::Server;

const WINDOW: [&str; 2] = ["--start-time=2026-05-01T00:00:00Z", "--end-time=2026-05-02T00:00:00Z"];

fn server_with_hourly() -> Server {
    let server = Server::start();
    let what = ["--type=T", "--task-queue=q", "--interval=8h", "--start-time=2026-01-01"];
    let end = ["--end-time=2026-06-01"];
    server.says(&[&["schedule", "create", "s"], &what[..], &end[..]].concat());
    server
}

#[test]
fn dry_run_lists_the_times_and_starts_nothing() {
    let server = server_with_hourly();
    let args =
        [&["schedule", "backfill", "s", "--dry-run", "--time-format=iso"], &WINDOW[..]].concat();
    let said = server.says(&[&args[..], &["--output=jsonl"]].concat());
    expect![[r#"
        "2026-05-01T00:00:00Z"
        "2026-05-01T08:00:00Z"
        "2026-05-01T16:00:00Z"
        "2026-05-02T00:00:00Z"
    "#]]
    .assert_eq(&said);
    assert!(server.says(&args).ends_with("4 times; nothing was started\n"));
    assert_eq!(server.json(&["schedule", "list-backfills", "s"]), serde_json::json!([]));
}

#[test]
fn watched_backfill_ends_when_all_is_started() {
    let server = server_with_hourly();
    let policy = ["--overlap-policy=AllowAll", "--watch"];
    let said = server.says(&[&["schedule", "backfill", "s"], &policy[..], &WINDOW[..]].concat());
    assert!(said.contains(": 4 started, 0 skipped\n"), "{said}");
    assert!(said.starts_with("Backfill 1 is done up to "), "{said}");
    assert_eq!(said.matches("triggered").count(), 4, "{said}");
    let running = server.json(&["schedule", "describe", "s"])["info"]["runningWorkflows"].clone();
    assert_eq!(running.as_array().map(Vec::len), Some(4));
}

#[test]
fn canceled_backfill_starts_no_more() {
    let server = server_with_hourly();
    let policy = ["--overlap-policy=BufferAll"];
    server.says(&[&["schedule", "backfill", "s"], &policy[..], &WINDOW[..]].concat());
    let said = server.says(&["schedule", "cancel-backfill", "s", "1"]);
    assert_eq!(said, "Canceled backfill 1\n");
    assert_eq!(server.json(&["schedule", "list-backfills", "s"])[0]["canceled"], true);
    let times = server.json(&["schedule", "list-backfills", "s", "1"]);
    let outcomes: Vec<_> = times.as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["triggered", "skipped", "skipped", "skipped"]);
    assert_eq!(times[1]["reason"], "backfill_canceled");
}

#[test]
fn a_time_without_an_offset_is_on_the_clock_of_the_schedule() {
    let server = Server::start();
    let what = ["--type=T", "--task-queue=q", "--cron=0 9 * * *", "--time-zone=Europe/Oslo"];
    server.says(&[&["schedule", "create", "s", "--paused"], &what[..]].concat());
    let window = ["--start-time=2026-05-01T09:00", "--end-time=2026-05-01T09:00"];
    let args = [&["schedule", "backfill", "s", "--dry-run", "-o=jsonl"], &window[..]].concat();
    assert_eq!(server.says(&args), "\"2026-05-01T07:00:00Z\"\n");
}
