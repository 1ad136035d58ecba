//! Starts for the times of a window.

use expect_test::expect;
use perennial_engine::schedule::{Command, NewBackfill, Reply, Trigger, Triggered};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, at, clock, config, with_policy};

#[test]
fn both_ends_of_the_window_count_and_allow_all_starts_all_at_once() {
    let mut world = World::new(config(&["@every 1h"]));
    world.until("00:00:01").backfill("01:00:00", "03:00:00", Overlap::AllowAll);
    expect![[r#"
        00:00:01 | 01:00:00 fired by backfill
        00:00:01 | 02:00:00 fired by backfill
        00:00:01 | 03:00:00 fired by backfill
        00:00:01 | start run 1, w-2026-01-01T01:00:00Z
        00:00:01 | start run 2, w-2026-01-01T02:00:00Z
        00:00:01 | start run 3, w-2026-01-01T03:00:00Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn with_buffer_all_they_run_one_after_the_other() {
    let mut world = World::new(config(&["@every 1h"]));
    world.until("04:30:00").end(1, End::Completes("live")).story();
    world.backfill("01:00:00", "03:00:00", Overlap::BufferAll);
    world.end(2, End::Completes("a")).end(3, End::Completes("b"));
    expect![[r#"
        04:30:00 | 01:00:00 fired by backfill
        04:30:00 | 02:00:00 buffered by backfill
        04:30:00 | 03:00:00 buffered by backfill
        04:30:00 | start run 2, w-2026-01-01T01:00:00Z, last result live
        04:30:00 | run 2 ends
        04:30:00 | 02:00:00 fired by backfill
        04:30:00 | start run 3, w-2026-01-01T02:00:00Z, last result a
        04:30:00 | run 3 ends
        04:30:00 | 03:00:00 fired by backfill
        04:30:00 | start run 4, w-2026-01-01T03:00:00Z, last result b
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_time_that_was_backfilled_before_it_came_doesnt_fire_again() {
    let mut world = World::new(with_policy(Overlap::AllowAll, &["@every 10s"]));
    world.until("00:00:01").backfill("00:00:20", "00:00:20", Overlap::AllowAll);
    world.until("00:00:30");
    assert!(world.schedule.ahead.is_empty());
    expect![[r#"
        00:00:01 | 00:00:20 fired by backfill
        00:00:01 | start run 1, w-2026-01-01T00:00:20Z
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 2, w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 skipped (backfilled)
        00:00:30 | 00:00:30 fired
        00:00:30 | start run 3, w-2026-01-01T00:00:30Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_time_whose_run_is_still_open_is_skipped() {
    let mut world = World::new(config(&["@every 10s"]));
    world.until("00:00:10");
    world.taken.push("w-2026-01-01T00:00:10Z".to_owned());
    world.backfill("00:00:10", "00:00:10", Overlap::AllowAll);
    let backfill = world.schedule.backfills.values().next().unwrap();
    assert_eq!((backfill.planned, backfill.started, backfill.skipped), (1, 0, 1));
}

#[test]
fn nominal_times_are_backfilled_without_jitter() {
    let mut config = config(&["@every 10s"]);
    if let Some(spec) = &mut config.spec {
        spec.jitter = Some(std::time::Duration::from_secs(8).try_into().unwrap());
    }
    let mut world = World::new(config);
    world.backfill("00:00:10", "00:00:20", Overlap::AllowAll);
    let due: Vec<_> = world
        .schedule
        .head
        .recent_actions
        .iter()
        .map(|it| crate::schedule::kit::clock(it.due_at))
        .collect();
    assert_eq!(due, ["00:00:10", "00:00:20"]);
}

#[test]
fn a_long_backfill_goes_on_in_bounded_steps_and_fills_the_buffer_no_further_than_it_drains() {
    let mut world = World::new(config(&["@every 1s"]));
    world.pause("quiet").backfill("00:00:01", "01:00:00", Overlap::BufferAll).until("02:00:00");
    assert_eq!(world.runs.len(), 1);
    assert_eq!(world.schedule.buffer.len(), 1_000);
    for number in 1..=100 {
        world.end(number, End::Completes(""));
    }
    assert_eq!(world.schedule.buffer.len(), 1_000);
    let backfill = world.schedule.backfills.values().next().unwrap();
    assert_eq!(backfill.finished_at, 0);
}

#[test]
fn a_canceled_backfill_starts_nothing_more() {
    let mut world = World::new(config(&["@every 1h"]));
    world.until("04:30:00").end(1, End::Completes("live"));
    world.backfill("01:00:00", "03:00:00", Overlap::BufferAll).story();
    let sequence = *world.schedule.backfills.keys().next().unwrap();
    world.do_it(Command::CancelBackfill { sequence }).end(2, End::Completes("a"));
    expect![[r#"
        04:30:00 | 02:00:00 skipped by backfill (backfill_canceled)
        04:30:00 | 03:00:00 skipped by backfill (backfill_canceled)
        04:30:00 | run 2 ends
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn bounds_and_exclusions_of_the_spec_hold_for_backfills_too() {
    let mut config = config(&["@every 1h"]);
    if let Some(spec) = &mut config.spec {
        spec.start_time = Some(at("01:00:00").into());
        spec.end_time = Some(at("02:30:00").into());
    }
    let mut world = World::new(config);
    world.backfill("00:00:00", "06:00:00", Overlap::AllowAll);
    assert_eq!(world.runs.len(), 2);
}

#[test]
fn backfills_count_by_themselves() {
    let mut world = World::new(config(&["@every 1h"]));
    world.until("04:30:00").trigger(Overlap::AllowAll).trigger(Overlap::AllowAll);
    world.backfill("01:00:00", "02:00:00", Overlap::AllowAll);
    world.trigger(Overlap::AllowAll).backfill("03:00:00", "03:00:00", Overlap::AllowAll);
    assert_eq!(world.schedule.backfills.keys().copied().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_repeated_backfill_is_told_its_number_though_starts_have_the_same() {
    let mut world = World::new(config(&["@every 1h"]));
    world.until("04:30:00");
    let wanted = NewBackfill {
        request_id: "again".to_owned(),
        from: at("01:00:00"),
        to: at("02:00:00"),
        overlap_policy: Overlap::AllowAll,
        context: None,
    };
    let trigger = Trigger {
        request_id: "now".to_owned(),
        overlap_policy: Overlap::AllowAll,
        ..Trigger::default()
    };
    let begun = world.command(Command::Backfill(wanted.clone()));
    let triggered = world.command(Command::Trigger(trigger.clone()));
    assert_eq!(world.command(Command::Backfill(wanted)), begun);
    assert_eq!(world.command(Command::Trigger(trigger)), triggered);
    assert!(matches!(triggered, Ok(Reply::Triggered(Triggered::Started { .. }))));
}

#[test]
fn a_trigger_waits_behind_a_backfill_that_is_planned_in_parts() {
    let mut world = World::new(config(&["@every 1s"]));
    world.pause("only by hand").until("01:00:00");
    world.backfill("00:00:01", "00:20:00", Overlap::BufferAll).trigger(Overlap::BufferAll);
    for run in 1..=1_200 {
        world.end(run, End::Completes("a")).until("01:00:00");
    }
    assert_eq!(world.runs.len(), 1_201);
    let started = world.runs.last().and_then(|run| run.target.clone()).unwrap_or_default();
    assert_eq!(started.id, "w-2026-01-01T01:00:00Z", "the trigger is the last");
    let is_its = |number: usize| {
        let target = world.runs[number].target.clone().unwrap_or_default();
        let time = at("00:00:01").after(perennial_engine::Span::seconds(number as i64));
        target.id == format!("w-2026-01-01T{}Z", clock(time.0))
    };
    assert!((0..1_200).all(is_its), "the backfill's times are in order");
}

#[test]
fn two_long_backfills_go_one_after_the_other() {
    let mut world = World::new(config(&["@every 1s"]));
    world.pause("only by hand").until("03:00:00");
    world.backfill("01:00:01", "01:18:20", Overlap::BufferAll);
    world.backfill("00:00:01", "00:18:20", Overlap::BufferAll);
    for run in 1..=2_200 {
        world.end(run, End::Completes("a")).until("03:00:00");
        assert!(world.schedule.buffer.len() <= 2_000, "run {run}");
    }
    assert_eq!(world.runs.len(), 2_200);
    let first_half = world.runs[..1_100].iter().all(|run| {
        let target = run.target.clone().unwrap_or_default();
        target.id.starts_with("w-2026-01-01T01")
    });
    assert!(first_half, "the first backfill is done before the second begins");
    assert!(world.schedule.backfills.values().all(|backfill| backfill.finished_at != 0));
}
