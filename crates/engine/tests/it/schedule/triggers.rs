//! Starts that someone asks for.

use expect_test::expect;
use perennial_engine::schedule::{Command, Reply, Trigger, Triggered};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, at, config};

#[test]
fn a_trigger_says_whether_it_started_waits_or_was_skipped() {
    let mut world = World::new(config(&["@every 1h"])).with_audit();
    world.until("00:00:01.5").trigger(Overlap::Unspecified);
    world.until("00:00:02").trigger(Overlap::Unspecified).trigger(Overlap::BufferAll);
    let story = world.story();
    let story = story.replace(&run_id(&world, 1), "RUN");
    expect![[r#"
        00:00:01.500 | 00:00:01.500 fired by trigger
        00:00:01.500 | start run 1, w-2026-01-01T00:00:01Z
        00:00:01.500 | audit 2: triggered 1 w-2026-01-01T00:00:01Z
        00:00:01.500 | trigger: Started { workflow_id: "w-2026-01-01T00:00:01Z", run_id: "RUN" }
        00:00:02 | 00:00:02 skipped by trigger (overlap_policy_skip)
        00:00:02 | audit 3: skipped 1 in all, overlap_policy_skip
        00:00:02 | trigger: Skipped { reason: "overlap_policy_skip" }
        00:00:02 | 00:00:02 buffered by trigger
        00:00:02 | trigger: Buffered { depth: 1 }
    "#]]
    .assert_eq(&story);
}

#[test]
fn a_second_trigger_in_the_same_second_gets_a_fraction() {
    let mut world = World::new(config(&["@every 1h"]));
    world.until("00:00:01.25").trigger(Overlap::AllowAll);
    world.until("00:00:01.5").trigger(Overlap::AllowAll);
    let ids: Vec<_> = world.runs.iter().map(|run| run.target.clone().unwrap().id).collect();
    assert_eq!(ids, ["w-2026-01-01T00:00:01Z", "w-2026-01-01T00:00:01.500000000Z"]);
}

#[test]
fn the_time_that_a_trigger_names_names_the_run() {
    let mut world = World::new(config(&["@every 1h"]));
    let trigger = Trigger { scheduled_at: Some(at("00:10:00")), ..Trigger::default() };
    world.do_it(Command::Trigger(trigger));
    let target = world.runs[0].target.clone().unwrap();
    assert_eq!(target.id, "w-2026-01-01T00:10:00Z");
}

#[test]
fn a_repeated_trigger_starts_nothing_more() {
    let mut world = World::new(config(&["@every 1h"]));
    let trigger = Trigger { request_id: "once".to_owned(), ..Trigger::default() };
    let first = world.command(Command::Trigger(trigger.clone())).unwrap();
    let again = world.command(Command::Trigger(trigger)).unwrap();
    assert_eq!(first, again);
    assert!(matches!(first, Reply::Triggered(Triggered::Started { .. })));
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn a_trigger_may_bring_other_input() {
    use perennial_proto::store::entity_message::Body;
    use perennial_proto::temporal::common::v1::{Payload, Payloads};
    let mut world = World::new(config(&["@every 1h"]));
    let input = Payloads { payloads: vec![Payload { data: b"7".to_vec(), ..Payload::default() }] };
    let trigger = Trigger { input: Some(input.clone()), ..Trigger::default() };
    world.do_it(Command::Trigger(trigger));
    let Some(Body::StartRun(start)) = &world.runs[0].body else { panic!("it starts a run") };
    assert_eq!(start.started.as_ref().unwrap().input, Some(input));
}

#[test]
fn what_was_due_before_a_trigger_goes_before_it() {
    let mut world = World::new(config(&["@every 10s"]));
    world.now = at("00:00:10.1");
    world.trigger(Overlap::BufferAll).end(1, End::Completes("a"));
    let story = world.story().replace(&run_id(&world, 1), "RUN");
    expect![[r#"
        00:00:10.100 | 00:00:10 fired
        00:00:10.100 | 00:00:10.100 buffered by trigger
        00:00:10.100 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10.100 | trigger: Buffered { depth: 1 }
        00:00:10.100 | run 1 ends
        00:00:10.100 | 00:00:10.100 fired by trigger
        00:00:10.100 | start run 2, w-2026-01-01T00:00:10Z, last result a
    "#]]
    .assert_eq(&story);
}

fn run_id(world: &World, number: usize) -> String {
    use perennial_proto::store::entity_message::Body;
    match &world.runs[number - 1].body {
        Some(Body::StartRun(start)) => start.run_id.clone(),
        _ => String::new(),
    }
}
