//! What a run is told of the runs before it.

use expect_test::expect;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, config, with_policy};

#[test]
fn a_run_gets_the_result_of_the_run_that_completed_last_before_it_started() {
    // The picture of four overlapping runs: D gets A's result. B completed earlier, C later than D's start.
    let mut world = World::new(with_policy(Overlap::AllowAll, &["10,20,30,40 * * * * * *"]));
    world.until("00:00:20").until("00:00:25").end(2, End::Completes("B"));
    world.until("00:00:30").until("00:00:35").end(1, End::Completes("A"));
    world.until("00:00:40").end(3, End::Completes("C"));
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 fired
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z
        00:00:25 | run 2 ends
        00:00:30 | 00:00:30 fired
        00:00:30 | start run 3, w-2026-01-01T00:00:30Z, last result B
        00:00:35 | run 1 ends
        00:00:40 | 00:00:40 fired
        00:00:40 | start run 4, w-2026-01-01T00:00:40Z, last result A
        00:00:40 | run 3 ends
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn failures_and_timeouts_leave_the_last_result_and_a_success_resets_the_last_failure() {
    let mut world = World::new(config(&["@every 10s"]));
    world.until("00:00:10").end(1, End::Completes("one"));
    world.until("00:00:20").end(2, End::Fails);
    world.until("00:00:30").end(3, End::TimesOut);
    world.until("00:00:40").end(4, End::IsCanceled);
    world.until("00:00:50").end(5, End::IsTerminated);
    world.until("00:01:00").end(6, End::Completes("two"));
    world.until("00:01:10");
    let starts: Vec<_> =
        world.story().lines().filter(|it| it.contains("start run")).map(str::to_owned).collect();
    expect![[r#"
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:20 | start run 2, w-2026-01-01T00:00:20Z, last result one
        00:00:30 | start run 3, w-2026-01-01T00:00:30Z, last result one, last failure boom
        00:00:40 | start run 4, w-2026-01-01T00:00:40Z, last result one, last failure workflow timeout
        00:00:50 | start run 5, w-2026-01-01T00:00:50Z, last result one, last failure workflow timeout
        00:01:00 | start run 6, w-2026-01-01T00:01:00Z, last result one, last failure workflow timeout
        00:01:10 | start run 7, w-2026-01-01T00:01:10Z, last result two"#]].assert_eq(&starts.join("\n"));
}

#[test]
fn the_end_of_a_run_is_shown_with_what_was_started_last() {
    let mut world = World::new(with_policy(Overlap::AllowAll, &["@every 1s"]));
    world.until("00:00:12").end(12, End::Fails);
    let recent = &world.schedule.head.recent_actions;
    assert_eq!(recent.len(), 10);
    assert_eq!(recent[0].workflow_id, "w-2026-01-01T00:00:03Z");
    assert_eq!(format!("{:?}", recent[9].status()), "Failed");
    assert_eq!(format!("{:?}", recent[8].status()), "Running");
}
