//! Activities: attempts, timeouts, cancellation.

use expect_test::expect;
use perennial_engine::Span;
use perennial_engine::run::ActivityOutcome::{Canceled, Completed, Failed};
use perennial_engine::run::{Command, Reply, TaskRef};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use crate::run::check;
use crate::run::kit::{World, failure};
use crate::run::wanted::*;

#[test]
fn attempts_leave_no_trace_until_the_last_one() {
    let mut world = World::started();
    world.poll().complete(vec![activity_with("a", |it| it.retry_policy = Some(retries(3)))]);
    world.poll_activity("a").report("a", Failed(Some(failure("one")), None)).seconds(1);
    world.poll_activity("a").report("a", Failed(Some(failure("two")), None)).seconds(1);
    check(
        &world.tail(1),
        expect![[r#"
        5 ActivityTaskScheduled id=a
    "#]],
    );
    world.seconds(1).poll_activity("a").report("a", Failed(Some(failure("three")), None));
    check(
        &world.tail(3),
        expect![[r#"
        6 ActivityTaskStarted scheduled=5 attempt=3 last_failure="two"
        7 ActivityTaskFailed scheduled=5 started=6 failure="three" retry=MaximumAttemptsReached
        8 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn eager_activity_of_a_run_that_closes_at_once_is_given_to_nobody() {
    let mut world = World::started();
    let eager = activity_with("a", |it| it.request_eager_execution = true);
    let reply = world.poll().try_complete(vec![eager, complete("")]).unwrap();
    let Reply::WorkflowTaskCompleted(completed) = reply else { panic!("{reply:?}") };
    assert!(completed.eager_activities.is_empty());
}

#[test]
fn attempt_that_takes_too_long_is_tried_again() {
    let mut world = World::started();
    world.poll().complete(vec![activity("a")]).poll_activity("a").seconds(11);
    check(
        &world.waiting(),
        expect![[r#"
        offer activity of run1: event 5 attempt 2 on queue
    "#]],
    );
    world.poll_activity("a").report("a", Completed(None));
    check(
        &world.tail(3),
        expect![[r#"
        6 ActivityTaskStarted scheduled=5 attempt=2 last_failure="activity StartToClose timeout"
        7 ActivityTaskCompleted scheduled=5 started=6
        8 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn timeout_without_time_for_another_attempt_is_one_of_all_attempts_together() {
    let mut world = World::started();
    world.poll().complete(vec![activity_with("a", |it| {
        it.schedule_to_close_timeout = Some(Span::seconds(12).into());
        it.retry_policy = Some(retries(0));
    })]);
    world.poll_activity("a").report("a", Failed(Some(failure("one")), None)).seconds(1);
    world.poll_activity("a").seconds(11);
    let failure = timed_out(&world);
    assert!(failure.message.starts_with("Not enough time to schedule next retry"));
    assert_eq!(failure.cause.expect("an attempt failed before").message, "one");
}

#[test]
fn timeout_of_the_last_attempt_has_the_failure_before_as_its_cause() {
    let mut world = World::started();
    world.poll().complete(vec![activity_with("a", |it| it.retry_policy = Some(retries(2)))]);
    world.poll_activity("a").report("a", Failed(Some(failure("one")), None)).seconds(1);
    world.poll_activity("a").seconds(10);
    let failure = timed_out(&world);
    assert_eq!(failure.message, "activity StartToClose timeout");
    assert_eq!(failure.cause.expect("an attempt failed before").message, "one");
}

/// The failure of the one activity that timed out.
fn timed_out(world: &World) -> Failure {
    let found =
        world.events(&world.run().head.run_id).iter().find_map(|event| match &event.attributes {
            Some(Attributes::ActivityTaskTimedOutEventAttributes(it)) => it.failure.clone(),
            _ => None,
        });
    found.expect("an activity timed out")
}

#[test]
fn activity_that_nobody_takes_times_out_where_it_waits() {
    let mut world = World::started();
    world.poll().complete(vec![activity_with("a", |it| {
        it.schedule_to_close_timeout = Some(Span::seconds(3).into());
        it.start_to_close_timeout = None;
    })]);
    world.seconds(3);
    check(
        &world.tail(2),
        expect![[r#"
            6 ActivityTaskTimedOut scheduled=5 failure="activity ScheduleToStart timeout" retry=Timeout
            7 WorkflowTaskScheduled attempt=1 queue=queue
        "#]],
    );
}

#[test]
fn silence_is_a_heartbeat_timeout() {
    let mut world = World::started();
    world.poll().complete(vec![activity_with("a", |it| {
        it.heartbeat_timeout = Some(Span::seconds(2).into());
        it.retry_policy = Some(retries(1));
    })]);
    world.poll_activity("a").seconds(2);
    check(
        &world.tail(3),
        expect![[r#"
        6 ActivityTaskStarted scheduled=5 attempt=1
        7 ActivityTaskTimedOut scheduled=5 started=6 failure="activity Heartbeat timeout" retry=MaximumAttemptsReached
        8 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn activity_that_nobody_took_is_canceled_at_once() {
    let mut world = World::started();
    world.poll().complete(vec![activity("a"), cancel_activity(5)]);
    check(
        &world.tail(4),
        expect![[r#"
        5 ActivityTaskScheduled id=a
        6 ActivityTaskCancelRequested scheduled=5
        7 ActivityTaskCanceled scheduled=5
        8 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn canceled_activity_comes_behind_the_events_of_all_commands_and_what_was_buffered() {
    let mut world = World::started();
    world.poll().signal("s");
    world.complete(vec![activity("a"), cancel_activity(5), activity("a"), timer("t", 100)]);
    check(
        &world.tail(7),
        expect![[r#"
        5 ActivityTaskScheduled id=a
        6 ActivityTaskCancelRequested scheduled=5
        7 ActivityTaskScheduled id=a
        8 TimerStarted id=t
        9 WorkflowExecutionSignaled name=s
        10 ActivityTaskCanceled scheduled=5
        11 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn eager_activity_that_is_canceled_at_once_is_given_to_nobody() {
    let mut world = World::started();
    let eager = activity_with("a", |it| it.request_eager_execution = true);
    let reply = world.poll().try_complete(vec![eager, cancel_activity(5)]).unwrap();
    let Reply::WorkflowTaskCompleted(completed) = reply else { panic!("{reply:?}") };
    assert!(completed.eager_activities.is_empty());
    assert!(world.run().activities.is_empty());
}

#[test]
fn running_activity_hears_of_its_cancellation_and_ends_itself() {
    let mut world = World::started();
    world.poll().complete(vec![activity("a")]).poll_activity("a").signal("s").poll();
    world.complete(vec![cancel_activity(5)]).report("a", Canceled(None));
    check(
        &world.tail(4),
        expect![[r#"
        10 ActivityTaskCancelRequested scheduled=5
        11 ActivityTaskStarted scheduled=5 attempt=1
        12 ActivityTaskCanceled scheduled=5 started=11
        13 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn undone_start_keeps_the_attempt_and_offers_it_again() {
    let mut world = World::started();
    world.poll().complete(vec![activity("a")]).poll_activity("a");
    let (id, stamp) = {
        let activity = world.run().activity_by_id("a").unwrap();
        (activity.scheduled_event_id, activity.stamp)
    };
    let task = perennial_engine::run::TaskStamp { scheduled_event_id: id, attempt: 1, stamp };
    world.send(Command::UndoStart(TaskRef::Activity(task))).unwrap();
    check(
        &world.waiting(),
        expect![[r#"
        offer activity of run1: event 5 attempt 1 on queue
    "#]],
    );
    world.poll_activity("a").report("a", Completed(None));
}
