//! Pausing, and going on.

use expect_test::expect;
use perennial_engine::schedule::State;
use perennial_proto::store::ScheduleConfig;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, at, config, with_policy};

#[test]
fn paused_time_is_never_caught_up_and_unpausing_counts_from_now() {
    let mut world = World::new(config(&["@every 10s"])).with_audit();
    world.until("00:00:05").pause("the database is down").until("00:00:35");
    world.unpause("it is back").until("00:00:40");
    assert_eq!(world.schedule.head.missed_count, 0);
    assert_eq!(world.schedule.head.notes, "it is back");
    expect![[r#"
        00:00:05 | audit 2: paused, the database is down
        00:00:35 | 00:00:10 to 00:00:30 skipped (paused)
        00:00:35 | audit 3: resumed
        00:00:40 | 00:00:40 fired
        00:00:40 | start run 1, w-2026-01-01T00:00:40Z
        00:00:40 | audit 4: triggered 1 w-2026-01-01T00:00:40Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_paused_schedule_can_be_triggered_and_backfilled() {
    let paused = State { paused: true, notes: "not yet".to_owned(), remaining_actions: None };
    let mut world = World::with(config(&["@every 10s"]), paused, Vec::new());
    world.until("00:00:25").trigger(Overlap::AllowAll);
    world.backfill("00:00:10", "00:00:20", Overlap::AllowAll);
    expect![[r#"
        00:00:25 | 00:00:10 to 00:00:20 skipped (paused)
        00:00:25 | 00:00:25 fired by trigger
        00:00:25 | start run 1, w-2026-01-01T00:00:25Z
        00:00:25 | trigger: Started { workflow_id: "w-2026-01-01T00:00:25Z", run_id: "019b76db-09a8-7e55-b2fb-eea293f80bc9" }
        00:00:25 | 00:00:10 fired by backfill
        00:00:25 | 00:00:20 fired by backfill
        00:00:25 | start run 2, w-2026-01-01T00:00:10Z
        00:00:25 | start run 3, w-2026-01-01T00:00:20Z
    "#]].assert_eq(&world.story());
}

#[test]
fn pausing_drops_what_waits_and_nobody_asked_for() {
    let mut world = World::new(with_policy(Overlap::BufferAll, &["@every 10s"]));
    world.until("00:00:20").trigger(Overlap::BufferAll).pause("enough").end(1, End::IsCanceled);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:20 | 00:00:20 buffered by trigger
        00:00:20 | trigger: Buffered { depth: 2 }
        00:00:20 | 00:00:20 skipped (paused)
        00:00:20 | run 1 ends
        00:00:20 | 00:00:20 fired by trigger
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_pause_between_a_time_and_its_jittered_time_loses_only_that_time() {
    let mut config = config(&["@every 10s"]);
    if let Some(spec) = &mut config.spec {
        spec.jitter = Some(std::time::Duration::from_secs(8).try_into().unwrap());
    }
    let mut world = World::new(config);
    let due = world.schedule.next_due().unwrap();
    assert!(due > at("00:00:10"), "the jitter of this story is more than nothing");
    world.until("00:00:10").pause("a moment").unpause("go on").until("00:00:19");
    expect![[r#"
        00:00:12.802 | 00:00:10 fired
        00:00:12.802 | start run 1, w-2026-01-01T00:00:10Z
    "#]]
    .assert_eq(&world.story());
}

fn pausing_on_failure() -> World {
    World::new(ScheduleConfig { pause_on_failure: true, ..config(&["@every 10s"]) }).with_audit()
}

#[test]
fn a_run_that_fails_pauses_the_schedule_and_the_notes_say_why() {
    let mut world = pausing_on_failure();
    let token = world.schedule.head.conflict_token;
    world.until("00:00:12").end(1, End::Fails).until("00:00:30");
    assert_eq!(
        world.schedule.head.notes,
        "paused due to workflow failure: w-2026-01-01T00:00:10Z: boom"
    );
    assert!(world.schedule.head.conflict_token > token);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:12 | run 1 ends
        00:00:12 | audit 3: paused, paused due to workflow failure: w-2026-01-01T00:00:10Z: boom
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_run_that_times_out_pauses_the_schedule() {
    let mut world = pausing_on_failure();
    world.until("00:00:12").end(1, End::TimesOut);
    assert_eq!(world.schedule.head.notes, "paused due to workflow timeout: w-2026-01-01T00:00:10Z");
}

#[test]
fn cancellation_and_termination_pause_nothing() {
    let mut world = pausing_on_failure();
    world.until("00:00:12").end(1, End::IsCanceled);
    world.until("00:00:22").end(2, End::IsTerminated).until("00:00:30");
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:12 | run 1 ends
        00:00:20 | 00:00:20 fired
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
        00:00:20 | audit 3: triggered 2 w-2026-01-01T00:00:20Z
        00:00:22 | run 2 ends
        00:00:30 | 00:00:30 fired
        00:00:30 | start run 3, w-2026-01-01T00:00:30Z
        00:00:30 | audit 4: triggered 3 w-2026-01-01T00:00:30Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn with_allow_all_a_failure_stops_only_what_is_scheduled_after_it() {
    let mut config = with_policy(Overlap::AllowAll, &["@every 10s"]);
    config.pause_on_failure = true;
    let mut world = World::new(config);
    world.until("00:00:20").end(1, End::Fails).until("00:00:30");
    assert_eq!(world.schedule.running.len(), 1, "the second run goes on");
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 fired
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
        00:00:20 | run 1 ends
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_failure_pauses_nothing_that_was_due_before_it_however_much_that_is() {
    let mut world = pausing_on_failure();
    // 1,198 times are due when the failure is heard of: more than one step settles.
    world.until("00:00:10").now = at("03:19:55");
    world.end(1, End::Fails);
    assert!(!world.schedule.head.paused, "what was due before has its turn first");
    assert_eq!(world.schedule.started_runs().count(), 0, "nobody is shown a run that has ended");
    world.until("03:20:15").unpause("mended").until("03:20:20");
    assert_eq!(world.schedule.head.overlap_skipped_count, 1_198);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        03:19:55 | run 1 ends
        03:19:55 | 00:00:20 to 02:46:50, 1000 times skipped (overlap_policy_skip)
        03:19:55 | audit 3: skipped 1000 in all, overlap_policy_skip
        03:19:55 | 00:00:20 to 03:19:50, 1198 times skipped (overlap_policy_skip)
        03:19:55 | audit 4: paused, paused due to workflow failure: w-2026-01-01T00:00:10Z: boom
        03:19:55 | audit 5: skipped 1198 in all, overlap_policy_skip
        03:20:15 | 03:20:00 to 03:20:10 skipped (paused)
        03:20:15 | audit 6: resumed
        03:20:20 | 03:20:20 fired
        03:20:20 | start run 2, w-2026-01-01T03:20:20Z, last failure boom
        03:20:20 | audit 7: triggered 2 w-2026-01-01T03:20:20Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn with_allow_all_everything_that_was_due_before_a_failure_starts() {
    let mut config = with_policy(Overlap::AllowAll, &["@every 10s"]);
    config.pause_on_failure = true;
    let mut world = World::new(config);
    world.until("00:00:10").now = at("03:19:55");
    // The answers of a hundred starts are enough to wait for.
    world.held = Some(Vec::new());
    world.end(1, End::Fails);
    assert!(!world.schedule.head.paused);
    world.let_go();
    assert!(world.schedule.head.paused);
    assert_eq!(world.runs.len(), 1_199);
    world.until("03:20:15");
    assert_eq!(world.runs.len(), 1_199);
}
