//! How often a schedule acts.

use expect_test::expect;
use perennial_engine::schedule::State;
use perennial_proto::perennial::ScheduleExtensions;
use perennial_proto::store::ScheduleConfig;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, config, with_policy};

fn limited(to: i64) -> State {
    State { paused: false, notes: String::new(), remaining_actions: Some(to) }
}

#[test]
fn after_the_last_of_its_limited_actions_a_schedule_acts_as_if_paused() {
    let mut world =
        World::with(with_policy(Overlap::AllowAll, &["@every 10s"]), limited(2), vec![]);
    world.until("00:00:45").trigger(Overlap::AllowAll);
    assert_eq!(world.schedule.head.remaining_actions, 0);
    assert!(!world.schedule.head.paused);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 fired
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
        00:00:45 | 00:00:30 to 00:00:40 skipped (remaining_actions_exhausted)
        00:00:45 | 00:00:45 fired by trigger
        00:00:45 | start run 3, w-2026-01-01T00:00:45Z
        00:00:45 | trigger: Started { workflow_id: "w-2026-01-01T00:00:45Z", run_id: "019b76db-57c8-753c-b6d7-6cec99e07585" }
    "#]].assert_eq(&world.story());
}

#[test]
fn manual_and_skipped_starts_dont_count() {
    let mut world = World::with(config(&["@every 10s"]), limited(2), vec![]);
    world.trigger(Overlap::AllowAll).until("00:00:10").end(1, End::Completes("a"));
    world.backfill("00:00:00", "00:00:10", Overlap::AllowAll).end(2, End::Completes("b"));
    world.end(3, End::Completes("c"));
    assert_eq!(world.schedule.head.remaining_actions, 2);
    world.until("00:00:20");
    assert_eq!(world.schedule.head.remaining_actions, 1);
}

#[test]
fn what_waits_is_dropped_when_the_limited_actions_are_used_up() {
    let mut world =
        World::with(with_policy(Overlap::BufferAll, &["@every 10s"]), limited(2), vec![]);
    world = world.with_audit();
    world.until("00:00:40").end(1, End::Completes("a"));
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:30 | 00:00:30 buffered
        00:00:40 | 00:00:40 buffered
        00:00:40 | run 1 ends
        00:00:40 | 00:00:20 fired
        00:00:40 | 00:00:30 skipped (remaining_actions_exhausted)
        00:00:40 | 00:00:40 skipped (remaining_actions_exhausted)
        00:00:40 | start run 2, w-2026-01-01T00:00:20Z, last result a
        00:00:40 | audit 3: triggered 2 w-2026-01-01T00:00:20Z
        00:00:40 | audit 4: skipped 2 in all, remaining_actions_exhausted
    "#]]
    .assert_eq(&world.story());
}

fn ending_with(max_runs: i64, config: ScheduleConfig) -> ScheduleConfig {
    let extensions = ScheduleExtensions { max_runs, ..ScheduleExtensions::default() };
    ScheduleConfig { extensions: Some(extensions), ..config }
}

#[test]
fn the_run_that_uses_up_max_runs_deletes_the_schedule() {
    let config = ending_with(3, with_policy(Overlap::AllowAll, &["@every 10s"]));
    let mut world = World::new(config).with_audit();
    world.trigger(Overlap::Unspecified).until("00:01:00");
    assert_eq!(world.schedule.head.delete_reason, "max_runs_exhausted");
    expect![[r#"
        00:00:00 | 00:00:00 fired by trigger
        00:00:00 | start run 1, w-2026-01-01T00:00:00Z
        00:00:00 | audit 2: triggered 1 w-2026-01-01T00:00:00Z
        00:00:00 | trigger: Started { workflow_id: "w-2026-01-01T00:00:00Z", run_id: "019b76da-a800-7e55-b2fb-eea293f80bc9" }
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 2, w-2026-01-01T00:00:10Z
        00:00:10 | audit 3: triggered 2 w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 fired
        00:00:20 | audit 4: triggered 3 w-2026-01-01T00:00:20Z
        00:00:20 | audit 5: deleted, max_runs_exhausted
        00:00:20 | start run 3, w-2026-01-01T00:00:20Z
    "#]].assert_eq(&world.story());
}

#[test]
fn max_runs_ends_a_backfill_where_it_is() {
    let config = ending_with(2, config(&["@every 10s"]));
    let mut world = World::new(config);
    world.until("00:00:01").backfill("00:01:00", "00:05:00", Overlap::AllowAll);
    assert_eq!(world.runs.len(), 2);
    let backfill = world.schedule.backfills.values().next().unwrap();
    assert!(backfill.is_canceled && backfill.finished_at != 0);
}
