//! What happens when it is time to start a run while another is still going.

use expect_test::expect;
use perennial_proto::perennial::ScheduleExtensions;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, config, with_policy};

#[test]
fn skip_starts_nothing_while_a_run_goes_on_and_considers_the_next_time_after_its_end() {
    let mut world = World::new(config(&["@every 10s"]));
    world.until("00:00:35").end(1, End::Completes("a")).until("00:00:40");
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 skipped (overlap_policy_skip)
        00:00:30 | 00:00:20 to 00:00:30, 2 times skipped (overlap_policy_skip)
        00:00:35 | run 1 ends
        00:00:40 | 00:00:40 fired
        00:00:40 | start run 2, w-2026-01-01T00:00:40Z, last result a
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn buffer_one_starts_the_first_that_waited_as_soon_as_the_run_ends() {
    let mut world = World::new(with_policy(Overlap::BufferOne, &["@every 10s"]));
    world.until("00:00:35").end(1, End::Completes("a")).until("00:00:39");
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:30 | 00:00:30 skipped (overlap_policy_skip)
        00:00:35 | run 1 ends
        00:00:35 | 00:00:20 fired
        00:00:35 | start run 2, w-2026-01-01T00:00:20Z, last result a
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn buffer_all_starts_everything_one_after_the_other_in_order() {
    let mut world = World::new(with_policy(Overlap::BufferAll, &["@every 10s"]));
    world.until("00:00:32");
    world.end(1, End::Completes("a")).end(2, End::Completes("b")).end(3, End::Completes("c"));
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:30 | 00:00:30 buffered
        00:00:32 | run 1 ends
        00:00:32 | 00:00:20 fired
        00:00:32 | start run 2, w-2026-01-01T00:00:20Z, last result a
        00:00:32 | run 2 ends
        00:00:32 | 00:00:30 fired
        00:00:32 | start run 3, w-2026-01-01T00:00:30Z, last result b
        00:00:32 | run 3 ends
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn cancel_other_waits_until_the_canceled_run_has_ended_and_a_newer_start_replaces_the_waiting_one()
{
    let mut world = World::new(with_policy(Overlap::CancelOther, &["@every 10s"]));
    world.until("00:00:35").end(1, End::IsCanceled).until("00:00:39");
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:20 | cancel w-2026-01-01T00:00:10Z
        00:00:30 | 00:00:20 skipped (overlap_policy_skip)
        00:00:30 | 00:00:30 buffered
        00:00:35 | run 1 ends
        00:00:35 | 00:00:30 fired
        00:00:35 | start run 2, w-2026-01-01T00:00:30Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn terminate_other_ends_the_run_at_once_and_starts_when_it_is_gone() {
    let mut world = World::new(with_policy(Overlap::TerminateOther, &["@every 10s"]));
    world.until("00:00:20").end(1, End::IsTerminated).until("00:00:25");
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:20 | terminate w-2026-01-01T00:00:10Z
        00:00:20 | run 1 ends
        00:00:20 | 00:00:20 fired
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn terminate_beats_cancel() {
    let mut world = World::new(with_policy(Overlap::CancelOther, &["@every 10s"]));
    world.until("00:00:20").trigger(Overlap::TerminateOther).end(1, End::IsTerminated);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:20 | cancel w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 skipped (overlap_policy_skip)
        00:00:20 | 00:00:20 buffered by trigger
        00:00:20 | terminate w-2026-01-01T00:00:10Z
        00:00:20 | trigger: Buffered { depth: 1 }
        00:00:20 | run 1 ends
        00:00:20 | 00:00:20 fired by trigger
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn allow_all_starts_any_number_at_once() {
    let mut world = World::new(with_policy(Overlap::AllowAll, &["@every 10s"]));
    world.until("00:00:30").end(2, End::Completes("b"));
    assert_eq!(world.schedule.running.len(), 2);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 fired
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
        00:00:30 | 00:00:30 fired
        00:00:30 | start run 3, w-2026-01-01T00:00:30Z
        00:00:30 | run 2 ends
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn runs_that_were_allowed_to_overlap_are_in_the_way_of_those_that_may_not() {
    let mut world = World::new(config(&["@every 10s"]));
    world.trigger(Overlap::AllowAll).until("00:00:10");
    expect![[r#"
        00:00:00 | 00:00:00 fired by trigger
        00:00:00 | start run 1, w-2026-01-01T00:00:00Z
        00:00:00 | trigger: Started { workflow_id: "w-2026-01-01T00:00:00Z", run_id: "019b76da-a800-7e55-b2fb-eea293f80bc9" }
        00:00:10 | 00:00:10 skipped (overlap_policy_skip)
    "#]].assert_eq(&world.story());
}

#[test]
fn buffered_starts_meet_the_policy_that_the_schedule_gets_while_they_wait() {
    let mut world = World::new(with_policy(Overlap::BufferAll, &["@every 10s"]));
    world.until("00:00:35");
    world.update(|config| config.overlap_policy = Overlap::Skip.into());
    world.end(1, End::Completes("a"));
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:30 | 00:00:30 buffered
        00:00:35 | 00:00:20 skipped (overlap_policy_skip)
        00:00:35 | 00:00:30 skipped (overlap_policy_skip)
        00:00:35 | run 1 ends
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_manual_start_that_names_its_policy_keeps_it() {
    let mut world = World::new(config(&["@every 10s"]));
    world.until("00:00:10").trigger(Overlap::BufferAll).trigger(Overlap::BufferOne);
    world.trigger(Overlap::Unspecified).until("00:00:20").end(1, End::Completes("a"));
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10 | 00:00:10 buffered by trigger
        00:00:10 | trigger: Buffered { depth: 1 }
        00:00:10 | 00:00:10 skipped by trigger (overlap_policy_skip)
        00:00:10 | trigger: Skipped { reason: "overlap_policy_skip" }
        00:00:10 | 00:00:10 skipped by trigger (overlap_policy_skip)
        00:00:10 | trigger: Skipped { reason: "overlap_policy_skip" }
        00:00:20 | 00:00:20 skipped (overlap_policy_skip)
        00:00:20 | run 1 ends
        00:00:20 | 00:00:10 fired by trigger
        00:00:20 | start run 2, w-2026-01-01T00:00:10Z, last result a
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_buffer_that_is_limited_drops_what_it_has_no_room_for() {
    let mut config = with_policy(Overlap::BufferAll, &["@every 10s"]);
    config.extensions = Some(ScheduleExtensions { buffer_max: 1, ..ScheduleExtensions::default() });
    let mut world = World::new(config);
    world.until("00:00:30");
    assert_eq!(world.schedule.head.buffer_dropped_count, 1);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:30 | 00:00:30 dropped (buffer_full)
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_run_that_has_the_workflow_id_already_makes_the_start_come_to_nothing() {
    let mut world = World::new(config(&["@every 10s"])).with_audit();
    world.taken.push("w-2026-01-01T00:00:10Z".to_owned());
    world.until("00:00:20");
    assert_eq!(world.schedule.head.action_count, 1);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | 00:00:10 skipped (workflow_id_taken)
        00:00:10 | audit 2: skipped 1 in all, workflow_id_taken
        00:00:20 | 00:00:20 fired
        00:00:20 | start run 1, w-2026-01-01T00:00:20Z
        00:00:20 | audit 3: triggered 1 w-2026-01-01T00:00:20Z
    "#]]
    .assert_eq(&world.story());
}
