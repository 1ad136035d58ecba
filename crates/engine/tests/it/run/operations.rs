//! What operators do to runs and activities.

use expect_test::expect;
use perennial_engine::Span;
use perennial_engine::run::ActivityOutcome::{Completed, Failed};
use perennial_engine::run::{
    ActivityChange, ActivityOptions, ActivitySelection, ActivityTarget, ChangeActivities, Command,
    HeartbeatActivity, PauseRun, Rejection, Reply, UpdateOptions,
};
use perennial_proto::temporal::common::v1::Priority;

use crate::run::check;
use crate::run::kit::{World, failure};
use crate::run::wanted::*;

#[test]
fn paused_activity_is_not_offered_until_it_is_let_go() {
    let mut world = with_activity();
    world.offers.clear();
    change(&mut world, pause("p")).unwrap();
    change(&mut world, pause("p")).unwrap();
    assert_eq!(
        change(&mut world, pause("other")),
        Err(Rejection::FailedPrecondition("activity is already paused".to_owned()))
    );
    world.seconds(60);
    check(&world.waiting(), expect![[""]]);
    change(&mut world, unpause(Span::seconds(10))).unwrap();
    check(&world.waiting(), expect![[""]]);
    world.seconds(5).poll_activity("a").report("a", Completed(None));
}

#[test]
fn paused_activity_does_not_fail_at_its_last_attempt() {
    let mut world = World::started();
    world.poll().complete(vec![activity_with("a", |it| it.retry_policy = Some(retries(1)))]);
    world.poll_activity("a");
    change(&mut world, pause("p")).unwrap();
    world.report("a", Failed(Some(failure("last")), None));
    change(&mut world, unpause(Span::ZERO)).unwrap();
    world.poll_activity("a").report("a", Completed(None));
    check(
        &world.tail(3),
        expect![[r#"
        6 ActivityTaskStarted scheduled=5 attempt=2 last_failure="last"
        7 ActivityTaskCompleted scheduled=5 started=6
        8 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn attempt_that_ends_while_paused_has_no_next_one() {
    let mut world = with_activity();
    world.poll_activity("a");
    change(&mut world, pause("p")).unwrap();
    world.report("a", Failed(Some(failure("no")), None)).seconds(600);
    check(&world.waiting(), expect![[""]]);
    change(&mut world, unpause(Span::ZERO)).unwrap();
    check(
        &world.waiting(),
        expect![[r#"
        offer activity of run1: event 5 attempt 2 on queue
    "#]],
    );
}

#[test]
fn running_activity_hears_that_it_is_reset_and_counts_as_the_first() {
    let mut world = with_activity();
    world.poll_activity("a").report("a", Failed(Some(failure("no")), None)).seconds(1);
    world.poll_activity("a");
    change(&mut world, reset()).unwrap();
    let beat = HeartbeatActivity {
        target: ActivityTarget::Id("a".to_owned()),
        details: None,
        identity: String::new(),
    };
    let Ok(Reply::Heartbeat(heard)) = world.send(Command::HeartbeatActivity(beat)) else {
        panic!("no answer to a heartbeat")
    };
    assert!(heard.reset);
    world.report("a", Failed(Some(failure("reset")), None)).seconds(1);
    check(
        &world.waiting(),
        expect![[r#"
        offer activity of run1: event 5 attempt 2 on queue
    "#]],
    );
}

#[test]
fn altered_options_hold_for_the_next_attempt_and_can_be_restored() {
    let mut world = with_activity();
    world.offers.clear();
    let options = ActivityOptions {
        task_queue: Some("other".to_owned()),
        start_to_close: Some(Span::seconds(99)),
        ..ActivityOptions::default()
    };
    change(&mut world, ActivityChange::UpdateOptions(options)).unwrap();
    check(
        &world.waiting(),
        expect![[r#"
        offer activity of run1: event 5 attempt 1 on other
    "#]],
    );
    let restore = ActivityOptions { restore_original: true, ..ActivityOptions::default() };
    change(&mut world, ActivityChange::UpdateOptions(restore)).unwrap();
    let scheduled = world.run().activity_by_id("a").unwrap().scheduled.clone().unwrap();
    assert_eq!(scheduled.task_queue.unwrap().name, "queue");
    assert_eq!(scheduled.start_to_close_timeout, Some(Span::seconds(10).into()));
}

#[test]
fn nobody_is_not_found() {
    let mut world = World::started();
    check(
        &change(&mut world, pause("p")).unwrap_err().to_string(),
        expect![
            "Can't find pending activity with such ID. Invalid activityID or activity already completed"
        ],
    );
}

#[test]
fn paused_run_offers_nothing_and_catches_up_when_it_goes_on() {
    let mut world = with_activity();
    world.offers.clear();
    world.send(Command::Pause(PauseRun::default())).unwrap();
    world.signal("s").seconds(60);
    check(&world.waiting(), expect![[""]]);
    world.send(Command::Unpause(PauseRun::default())).unwrap();
    check(
        &world.waiting(),
        expect![[r#"
        offer workflow task of run1: event 9 attempt 1 on queue
        offer activity of run1: event 5 attempt 1 on queue
    "#]],
    );
    check(
        &world.tail(4),
        expect![[r#"
        6 WorkflowExecutionPaused
        7 WorkflowExecutionSignaled name=s
        8 WorkflowExecutionUnpaused
        9 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
    let again = world.send(Command::Unpause(PauseRun::default())).unwrap_err();
    check(&again.to_string(), expect!["workflow is not paused."]);
}

#[test]
fn priority_changes_once() {
    let mut world = World::started();
    for _ in 0..2 {
        let priority = Some(Priority { priority_key: 3, ..Priority::default() });
        let update = UpdateOptions { priority, identity: String::new() };
        world.send(Command::UpdateOptions(Box::new(update))).unwrap();
    }
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowExecutionOptionsUpdated priority=3
    "#]],
    );
}

fn with_activity() -> World {
    let mut world = World::started();
    world.poll().complete(vec![activity("a")]);
    world
}

fn change(world: &mut World, change: ActivityChange) -> Result<Reply, Rejection> {
    world.send(Command::ChangeActivities(Box::new(ChangeActivities {
        selection: ActivitySelection::Id("a".to_owned()),
        change,
        identity: "operator".to_owned(),
    })))
}

fn pause(request_id: &str) -> ActivityChange {
    ActivityChange::Pause { reason: "wait".to_owned(), request_id: request_id.to_owned() }
}

fn unpause(jitter: Span) -> ActivityChange {
    ActivityChange::Unpause {
        reset_attempts: false,
        reset_heartbeat: false,
        jitter,
        jitter_fraction: 0.5,
    }
}

fn reset() -> ActivityChange {
    ActivityChange::Reset {
        reset_heartbeat: true,
        keep_paused: false,
        jitter: Span::ZERO,
        jitter_fraction: 0.0,
        restore_original_options: false,
    }
}
