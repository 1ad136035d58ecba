//! Schedules that are evaluated on demand, and what an evaluation tells.

use expect_test::expect;
use perennial_engine::schedule::{Command, Evaluated, Reply};
use perennial_proto::perennial::CatchupMode;
use perennial_proto::store::ScheduleConfig;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, at, clock, config, with_catchup, with_policy};

/// Nothing but an evaluation settles what is due.
fn on_demand(config: ScheduleConfig) -> World {
    let mut world = World::new(config);
    world.evaluated = Evaluated::OnDemand;
    world
}

/// What one evaluation says, a line for each entry.
fn evaluate(world: &mut World) -> String {
    let reply = world.command(Command::Evaluate);
    let Ok(Reply::Evaluated { times, has_more }) = reply else { panic!("{reply:?}") };
    let line = |time: &perennial_engine::schedule::EvaluatedTime| {
        let (at, verdict) = (clock(time.nominal.0), time.verdict);
        format!("{at} {verdict:?} {}{} x{}\n", time.reason, time.workflow_id, time.count)
    };
    let mut lines: String = times.iter().map(line).collect();
    if has_more {
        lines.push_str("and more\n");
    }
    lines
}

#[test]
fn an_evaluation_tells_each_start_and_each_skip_by_its_time() {
    let mut world = on_demand(config(&["@every 10s"]));
    world.now = at("00:00:35");
    expect![[r#"
        00:00:10 Late w-2026-01-01T00:00:10Z x1
        00:00:20 Skipped overlap_policy_skip x1
        00:00:30 Skipped overlap_policy_skip x1
    "#]]
    .assert_eq(&evaluate(&mut world));
    assert_eq!(evaluate(&mut world), "", "the first one told all");
}

#[test]
fn whatever_came_since_the_last_evaluation_is_due_and_not_missed() {
    for mode in [CatchupMode::All, CatchupMode::One, CatchupMode::Latest, CatchupMode::None] {
        let mut world = on_demand(with_catchup(3600, mode, &["@every 10s"]));
        world.now = at("00:00:30");
        evaluate(&mut world);
        assert_eq!(world.runs.len(), 3, "{mode:?}");
    }
}

#[test]
fn missed_times_in_a_row_are_one_entry() {
    let mut world = on_demand(with_catchup(10, CatchupMode::All, &["@every 5s"]));
    world.now = at("00:01:00");
    expect![[r#"
        00:00:05 Missed catchup_window x9
        00:00:50 Fired w-2026-01-01T00:00:50Z x1
        00:00:55 Fired w-2026-01-01T00:00:55Z x1
        00:01:00 Fired w-2026-01-01T00:01:00Z x1
    "#]]
    .assert_eq(&evaluate(&mut world));
}

#[test]
fn an_evaluation_stops_after_five_hundred_times_and_says_so() {
    let mut world = on_demand(with_policy(Overlap::AllowAll, &["@every 1s"]));
    world.now = at("00:10:00");
    let first = evaluate(&mut world);
    assert_eq!(first.lines().count(), 501);
    assert!(first.ends_with("and more\n"), "{first}");
    assert_eq!(world.runs.len(), 500, "no answer to a start settles more");
    assert_eq!(evaluate(&mut world).lines().count(), 100);
    assert_eq!(world.runs.len(), 600);
}

#[test]
fn on_demand_neither_time_nor_runs_nor_triggers_settle_what_is_due() {
    let mut world = on_demand(config(&["@every 10s"]));
    world.until("00:00:15").trigger(Overlap::Unspecified).end(1, End::Completes("a"));
    world.do_it(Command::Wake);
    expect![[r#"
        00:00:15 | 00:00:15 fired by trigger
        00:00:15 | start run 1, w-2026-01-01T00:00:15Z
        00:00:15 | trigger: Started { workflow_id: "w-2026-01-01T00:00:15Z", run_id: "019b76da-e298-7e55-b2fb-eea293f80bc9" }
        00:00:15 | run 1 ends
    "#]].assert_eq(&world.story());
    expect![[r#"
        00:00:10 Fired w-2026-01-01T00:00:10Z x1
    "#]]
    .assert_eq(&evaluate(&mut world));
}

#[test]
fn on_demand_a_pause_gives_what_is_due_its_verdict_first() {
    let mut world = on_demand(config(&["@every 10s"]));
    world.now = at("00:00:15");
    world.pause("for lunch");
    expect![[r#"
        00:00:15 | 00:00:10 fired
        00:00:15 | start run 1, w-2026-01-01T00:00:10Z
    "#]]
    .assert_eq(&world.story());
}
