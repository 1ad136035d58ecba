//! Backfills: tried, begun, watched, canceled.

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
    assert!(said.ends_with(": 4 started, 0 skipped\n"), "{said}");
    assert!(said.contains(" is done up to "), "{said}");
    let running = server.json(&["schedule", "describe", "s"])["info"]["runningWorkflows"].clone();
    assert_eq!(running.as_array().map(Vec::len), Some(4));
}

#[test]
fn canceled_backfill_starts_no_more() {
    let server = server_with_hourly();
    let policy = ["--overlap-policy=BufferAll"];
    server.says(&[&["schedule", "backfill", "s"], &policy[..], &WINDOW[..]].concat());
    let listed = server.json(&["schedule", "list-backfills", "s"]);
    let id = listed[0]["backfillId"].as_str().unwrap();
    let said = server.says(&["schedule", "cancel-backfill", "s", "--backfill-id", id]);
    assert_eq!(said, format!("Canceled backfill {id}\n"));
    assert_eq!(server.json(&["schedule", "list-backfills", "s"])[0]["canceled"], true);
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
