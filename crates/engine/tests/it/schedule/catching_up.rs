//! Times that passed while nothing evaluated them.

use expect_test::expect;
use perennial_engine::schedule::{Command, Evaluated};
use perennial_proto::perennial::CatchupMode;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, at, config, with_catchup, with_policy};

#[test]
fn every_missed_time_within_the_window_is_started_and_those_before_it_are_missed() {
    let mut world = World::new(with_catchup(30, CatchupMode::All, &["@every 10s"]));
    world.down_until("00:01:05");
    assert_eq!(world.schedule.head.missed_count, 3);
    expect![[r#"
        00:01:05 | up again
        00:01:05 | 00:00:10 to 00:00:30, 3 times missed (catchup_window)
        00:01:05 | 00:00:40 late
        00:01:05 | 00:00:50 late
        00:01:05 | 00:01:00 late
        00:01:05 | start run 1, w-2026-01-01T00:00:40Z
        00:01:05 | start run 2, w-2026-01-01T00:00:50Z
        00:01:05 | start run 3, w-2026-01-01T00:01:00Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn each_missed_time_meets_the_overlap_policy() {
    let mut world = World::new(config(&["@every 10s"]));
    world.down_until("00:01:05").end(1, End::Completes("a")).until("00:01:10");
    expect![[r#"
        00:01:05 | up again
        00:01:05 | 00:00:10 late
        00:01:05 | 00:00:20 to 00:01:00, 5 times skipped (overlap_policy_skip)
        00:01:05 | start run 1, w-2026-01-01T00:00:10Z
        00:01:05 | run 1 ends
        00:01:10 | 00:01:10 fired
        00:01:10 | start run 2, w-2026-01-01T00:01:10Z, last result a
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn with_buffer_all_missed_times_run_one_after_the_other() {
    let mut world = World::new(with_policy(Overlap::BufferAll, &["@every 20s"]));
    world.down_until("00:00:45").end(1, End::Completes("a"));
    expect![[r#"
        00:00:45 | up again
        00:00:45 | 00:00:20 late
        00:00:45 | 00:00:40 buffered
        00:00:45 | start run 1, w-2026-01-01T00:00:20Z
        00:00:45 | run 1 ends
        00:00:45 | 00:00:40 late
        00:00:45 | start run 2, w-2026-01-01T00:00:40Z, last result a
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn with_cancel_other_the_latest_missed_time_takes_the_place_of_those_before() {
    let mut world = World::new(with_policy(Overlap::CancelOther, &["@every 20s"]));
    world.down_until("00:01:15");
    expect![[r#"
        00:01:15 | up again
        00:01:15 | 00:00:20 skipped (overlap_policy_skip)
        00:01:15 | 00:00:40 skipped (overlap_policy_skip)
        00:01:15 | 00:01:00 late
        00:01:15 | start run 1, w-2026-01-01T00:01:00Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn mode_one_starts_the_earliest_missed_time_and_resumes() {
    let mut world = World::new(with_catchup(3600, CatchupMode::One, &["@every 10s"]));
    world.down_until("00:00:55").until("00:01:00").down_until("00:01:45");
    expect![[r#"
        00:00:55 | up again
        00:00:55 | 00:00:10 late
        00:00:55 | 00:00:20 to 00:00:50, 4 times missed (catchup_mode)
        00:00:55 | start run 1, w-2026-01-01T00:00:10Z
        00:01:00 | 00:01:00 fired
        00:01:00 | start run 2, w-2026-01-01T00:01:00Z
        00:01:45 | up again
        00:01:45 | 00:01:10 late
        00:01:45 | 00:01:20 to 00:01:40, 3 times missed (catchup_mode)
        00:01:45 | start run 3, w-2026-01-01T00:01:10Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn mode_latest_starts_the_last_missed_time() {
    let mut world = World::new(with_catchup(3600, CatchupMode::Latest, &["@every 15s"]));
    world.down_until("00:00:58");
    expect![[r#"
        00:00:58 | up again
        00:00:58 | 00:00:15 to 00:00:30, 2 times missed (catchup_mode)
        00:00:58 | 00:00:45 late
        00:00:58 | start run 1, w-2026-01-01T00:00:45Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn mode_none_starts_nothing_that_was_missed() {
    let mut world = World::new(with_catchup(3600, CatchupMode::None, &["@every 15s"]));
    world.down_until("00:00:58").until("00:01:00");
    expect![[r#"
        00:00:58 | up again
        00:00:58 | 00:00:15 to 00:00:45, 3 times missed (catchup_mode)
        00:01:00 | 00:01:00 fired
        00:01:00 | start run 1, w-2026-01-01T00:01:00Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn an_outage_of_six_seconds_counts_for_every_mode() {
    let mut stories = String::new();
    for mode in [CatchupMode::All, CatchupMode::One, CatchupMode::Latest, CatchupMode::None] {
        let mut world = World::new(with_catchup(3600, mode, &["@every 2s"]));
        world.until("00:00:02").down_until("00:00:08.5").until("00:00:10");
        let story = world.story();
        let verdicts = story.lines().filter(|line| !line.contains("start run"));
        stories.push_str(&format!("{mode:?}\n"));
        verdicts.for_each(|line| stories.push_str(&format!("  {line}\n")));
    }
    expect![[r#"
        All
          00:00:02 | 00:00:02 fired
          00:00:08.500 | up again
          00:00:08.500 | 00:00:04 late
          00:00:08.500 | 00:00:06 late
          00:00:08.500 | 00:00:08 late
          00:00:10 | 00:00:10 fired
        One
          00:00:02 | 00:00:02 fired
          00:00:08.500 | up again
          00:00:08.500 | 00:00:04 late
          00:00:08.500 | 00:00:06 to 00:00:08, 2 times missed (catchup_mode)
          00:00:10 | 00:00:10 fired
        Latest
          00:00:02 | 00:00:02 fired
          00:00:08.500 | up again
          00:00:08.500 | 00:00:04 to 00:00:06, 2 times missed (catchup_mode)
          00:00:08.500 | 00:00:08 late
          00:00:10 | 00:00:10 fired
        None
          00:00:02 | 00:00:02 fired
          00:00:08.500 | up again
          00:00:08.500 | 00:00:04 to 00:00:08, 3 times missed (catchup_mode)
          00:00:10 | 00:00:10 fired
    "#]]
    .assert_eq(&stories);
}

#[test]
fn a_time_that_was_due_while_it_was_evaluated_is_late_but_not_missed() {
    let mut world = World::new(with_catchup(3600, CatchupMode::None, &["@every 10s"]));
    // The server is up and slow: nothing came to the schedule for half a minute.
    world.now = at("00:00:33");
    world.until("00:00:33");
    expect![[r#"
        00:00:33 | 00:00:10 late
        00:00:33 | 00:00:20 late
        00:00:33 | 00:00:30 fired
        00:00:33 | start run 1, w-2026-01-01T00:00:10Z
        00:00:33 | start run 2, w-2026-01-01T00:00:20Z
        00:00:33 | start run 3, w-2026-01-01T00:00:30Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn an_outage_while_the_last_one_is_caught_up_has_a_start_of_its_own() {
    let mut world = World::new(with_catchup(86_400, CatchupMode::One, &["@every 1s"]));
    // More times than one step settles.
    world.now = at("09:00:00");
    world.evaluated = Evaluated::Since(world.now);
    world.do_it(Command::Wake);
    assert!(world.schedule.next_due().unwrap() < world.now, "there is more to settle");
    world.down_until("09:00:20.5");
    let story = world.story();
    let started: Vec<_> = story.lines().filter(|line| line.contains("late")).collect();
    assert_eq!(started, ["09:00:00 | 00:00:01 late", "09:00:20.500 | 09:00:00 late"]);
    assert_eq!(world.runs.len(), 2);
}

#[test]
fn a_year_without_a_server_is_one_line_and_bounded_steps() {
    let mut world = World::new(with_catchup(60, CatchupMode::All, &["@every 1s"]));
    world.now = at("1d 00:00:00");
    let mut steps = 0;
    while world.schedule.next_due().is_some_and(|due| due <= world.now) {
        world.do_it(Command::Wake);
        steps += 1;
        assert!(steps < 20, "a day of seconds is settled in a few steps");
    }
    let story = world.story();
    let missed: Vec<_> = story.lines().filter(|line| line.contains("missed")).collect();
    assert_eq!(
        missed.last().copied(),
        Some("1d 00:00:00 | 00:00:01 to 23:58:59, 86339 times missed (catchup_window)")
    );
    assert_eq!(world.runs.len(), 61);
}

#[test]
fn the_window_is_measured_on_the_jittered_time() {
    let mut config = with_catchup(10, CatchupMode::All, &["@every 60s"]);
    if let Some(spec) = &mut config.spec {
        spec.jitter = Some(std::time::Duration::from_secs(50).try_into().unwrap());
    }
    let mut world = World::new(config);
    let due = world.schedule.next_due().unwrap();
    world.now = due.after(perennial_engine::Span::seconds(10));
    world.do_it(Command::Wake);
    assert_eq!(world.runs.len(), 1, "ten seconds after it was due it isn't missed yet");
}

#[test]
fn with_a_hundred_starts_unanswered_a_schedule_waits_for_answers() {
    let mut world = World::new(with_policy(Overlap::AllowAll, &["@every 1s"]));
    world.held = Some(Vec::new());
    world.down_until("00:10:00");
    assert_eq!(world.held.as_ref().unwrap().len(), 100);
    assert!(world.schedule.next_due().unwrap() < world.now, "there is more to start");
    world.let_go();
    assert_eq!(world.runs.len(), 600);
    assert_eq!(world.schedule.head.starts_on_their_way, 0);
}

#[test]
fn what_was_due_before_a_run_ended_sees_it_going_on_however_much_that_is() {
    let mut world = World::new(config(&["@every 10s"]));
    world.until("00:00:10").now = at("03:19:55");
    world.end(1, End::Completes("a")).until("03:20:00");
    assert_eq!(world.schedule.head.overlap_skipped_count, 1_198);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        03:19:55 | run 1 ends
        03:19:55 | 00:00:20 to 02:46:50, 1000 times skipped (overlap_policy_skip)
        03:19:55 | 00:00:20 to 03:19:50, 1198 times skipped (overlap_policy_skip)
        03:20:00 | 03:20:00 fired
        03:20:00 | start run 2, w-2026-01-01T03:20:00Z, last result a
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn what_waited_for_a_run_goes_before_what_is_due_after_its_end() {
    let mut world = World::new(with_policy(Overlap::BufferOne, &["@every 10s"]));
    world.until("00:00:10").now = at("03:19:55");
    world.end(1, End::Completes("a"));
    world.now = at("03:20:05");
    world.until("03:20:05");
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        03:19:55 | run 1 ends
        03:19:55 | 00:00:20 buffered
        03:19:55 | 00:00:30 to 02:46:50, 999 times skipped (overlap_policy_skip)
        03:20:05 | 00:00:20 late
        03:20:05 | 00:00:30 to 03:19:50, 1197 times skipped (overlap_policy_skip)
        03:20:05 | 03:20:00 buffered
        03:20:05 | start run 2, w-2026-01-01T00:00:20Z, last result a
    "#]]
    .assert_eq(&world.story());
}
