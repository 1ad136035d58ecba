//! The audit stream is in causal order.

use expect_test::expect;
use perennial_engine::schedule::Command;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{World, config, with_policy};

#[test]
fn a_start_stands_before_the_skips_that_it_causes() {
    let mut world = World::new(config(&["@every 10s"])).with_audit();
    world.down_until("00:00:35");
    expect![[r#"
        00:00:35 | up again
        00:00:35 | 00:00:10 late
        00:00:35 | 00:00:20 to 00:00:30, 2 times skipped (overlap_policy_skip)
        00:00:35 | start run 1, w-2026-01-01T00:00:10Z
        00:00:35 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:35 | audit 3: skipped 2 in all, overlap_policy_skip
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_skip_waits_for_the_answer_to_the_start_that_caused_it() {
    let mut world = World::new(config(&["@every 10s"])).with_audit();
    world.held = Some(Vec::new());
    world.until("00:00:30").trigger(Overlap::Skip).let_go();
    assert!(world.schedule.head.pending_skips.is_empty());
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:20 | 00:00:20 skipped (overlap_policy_skip)
        00:00:30 | 00:00:20 to 00:00:30, 2 times skipped (overlap_policy_skip)
        00:00:30 | 00:00:30 skipped by trigger (overlap_policy_skip)
        00:00:30 | trigger: Skipped { reason: "overlap_policy_skip" }
        00:00:30 | start run 1, w-2026-01-01T00:00:10Z
        00:00:30 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:30 | audit 3: skipped 1 in all, overlap_policy_skip
        00:00:30 | audit 4: skipped 2 in all, overlap_policy_skip
        00:00:30 | audit 5: skipped 3 in all, overlap_policy_skip
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn the_start_that_replaces_another_stands_before_the_skip_of_that() {
    let mut world = World::new(with_policy(Overlap::CancelOther, &["@every 10s"])).with_audit();
    world.down_until("00:00:35");
    expect![[r#"
        00:00:35 | up again
        00:00:35 | 00:00:10 skipped (overlap_policy_skip)
        00:00:35 | 00:00:20 skipped (overlap_policy_skip)
        00:00:35 | 00:00:30 late
        00:00:35 | start run 1, w-2026-01-01T00:00:30Z
        00:00:35 | audit 2: triggered 1 w-2026-01-01T00:00:30Z
        00:00:35 | audit 3: skipped 2 in all, overlap_policy_skip
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn nothing_waits_for_an_answer_when_the_schedule_is_deleted() {
    let mut world = World::new(config(&["@every 10s"])).with_audit();
    world.held = Some(Vec::new());
    world.until("00:00:20").do_it(Command::Delete { reason: "old".to_owned(), context: None });
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:20 | 00:00:20 skipped (overlap_policy_skip)
        00:00:20 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:20 | audit 3: skipped 1 in all, overlap_policy_skip
        00:00:20 | audit 4: deleted, old
    "#]]
    .assert_eq(&world.story());
}
