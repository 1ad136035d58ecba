//! Chains: retries, cron, continue-as-new, timeouts.

use expect_test::expect;
use perennial_engine::Span;
use perennial_engine::run::{Command, RequestCancel, StartRun, Terminate};

use crate::run::check;
use crate::run::kit::{World, start_request};
use crate::run::wanted::*;

fn chained(with: impl FnOnce(&mut StartRun)) -> World {
    let mut world = World::new();
    let mut request = start_request();
    with(&mut request);
    world.start(request).expect("the start is good");
    world
}

#[test]
fn failed_run_is_retried_after_its_back_off() {
    let mut world = chained(|it| it.started.retry_policy = Some(retries(2)));
    world.seconds(5).work("wf", vec![fail("one")]);
    check(
        &world.history_at(0),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionFailed failure="one" retry=InProgress next=run2
    "#]],
    );
    world.seconds(1).work("wf", vec![fail("two")]);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=2 backoff=1s after=run1 failure="one"
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionFailed failure="two" retry=MaximumAttemptsReached
    "#]],
    );
}

#[test]
fn runs_of_a_chain_belong_to_the_trace_of_its_start() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut world = chained(|it| {
        it.started.retry_policy = Some(retries(2));
        it.traceparent = trace.to_owned();
    });
    assert_eq!(world.run().head.traceparent, trace);
    world.seconds(5).work("wf", vec![fail("one")]);
    assert_eq!((world.run().started.attempt, world.run().head.traceparent.as_str()), (2, trace));
}

#[test]
fn run_that_takes_too_long_is_retried_too() {
    let mut world = chained(|it| {
        it.started.retry_policy = Some(retries(2));
        it.started.workflow_run_timeout = Some(Span::seconds(30).into());
    });
    world.seconds(30);
    check(
        &world.history_at(0),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowExecutionTimedOut retry=InProgress next=run2
    "#]],
    );
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=2 backoff=1s after=run1 failure="workflow timeout"
    "#]],
    );
}

#[test]
fn execution_timeout_ends_the_chain() {
    let mut world = chained(|it| {
        it.started.retry_policy = Some(retries(0));
        it.started.workflow_execution_timeout = Some(Span::seconds(30).into());
    });
    world.seconds(5).work("wf", vec![fail("one")]).seconds(60);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=2 backoff=1s after=run1 failure="one"
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowExecutionTimedOut retry=Timeout
    "#]],
    );
    assert_eq!(world.runs.len(), 2);
}

#[test]
fn cron_run_waits_for_the_next_minute_and_carries_its_result_on() {
    let mut world = chained(|it| it.started.cron_schedule = "* * * * *".to_owned());
    world.seconds(60).work("wf", vec![complete("first")]);
    check(
        &world.history_at(0),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=60s
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionCompleted result=first next=run2
    "#]],
    );
    world.seconds(60).poll().seconds(8).complete(vec![fail("second")]);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=52s after=run2 failure="second" last_result=first
    "#]],
    );
}

#[test]
fn times_missed_by_a_long_cron_run_are_lost() {
    let mut world = chained(|it| it.started.cron_schedule = "CRON_TZ=UTC * * * * *".to_owned());
    world.seconds(60).work("wf", vec![timer("t", 200)]).seconds(200).work("wf", vec![complete("")]);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=40s after=run1
    "#]],
    );
}

#[test]
fn every_so_often_is_counted_from_the_start() {
    let mut world = World::new();
    world.seconds(7);
    let mut request = start_request();
    request.started.cron_schedule = "@every 1h".to_owned();
    world.start(request).unwrap();
    world.seconds(3600).work("wf", vec![complete("")]);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=3600s after=run1
    "#]],
    );
}

#[test]
fn cancel_hits_only_the_current_run_of_a_cron_chain() {
    let mut world = chained(|it| it.started.cron_schedule = "* * * * *".to_owned());
    world.seconds(60).poll();
    world.send(Command::RequestCancel(RequestCancel::default())).unwrap();
    world.complete(vec![]).work("wf", vec![cancel()]);
    assert_eq!(world.runs.len(), 2);
    assert_eq!(world.runs[0].0.head.successor_run_id, world.run().head.run_id);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=60s after=run1
    "#]],
    );
}

#[test]
fn terminate_ends_a_cron_chain() {
    let mut world = chained(|it| it.started.cron_schedule = "* * * * *".to_owned());
    world.send(Command::Terminate(Terminate::default())).unwrap();
    world.seconds(600);
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn bad_cron_strings_are_refused() {
    let mut text = String::new();
    for cron in ["every tuesday", "0 0 31 2 *"] {
        let mut request = start_request();
        request.started.cron_schedule = cron.to_owned();
        text += &format!("{}\n", World::new().start(request).unwrap_err());
    }
    let mut request = start_request();
    request.started.cron_schedule = "* * * * *".to_owned();
    request.delay = Span::seconds(1);
    text += &format!("{}\n", World::new().start(request).unwrap_err());
    check(
        &text,
        expect![[r#"
        invalid CronSchedule. a cron string has 5 fields, this has 2 fields; write @every 5m, @hourly, @daily or @weekly
          every tuesday
                       ^
        invalid CronSchedule, no time can be found to satisfy the schedule
        CronSchedule and WorkflowStartDelay may not be used together.
    "#]],
    );
}

#[test]
fn continuing_as_new_at_once_waits_a_second() {
    let mut world = World::started();
    world.wait(Span::millis(300)).work("wf", vec![continue_as_new()]);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=0.7s after=run1
    "#]],
    );
}

#[test]
fn continue_as_new_carries_only_what_the_command_says() {
    let mut world = chained(|it| {
        it.started.retry_policy = Some(retries(3));
        it.started.memo = Some(Default::default());
        it.started.workflow_run_timeout = Some(Span::seconds(50).into());
        it.started.workflow_execution_timeout = Some(Span::seconds(500).into());
    });
    let expires = world.run().head.execution_expires_at;
    world.seconds(2).work("wf", vec![continue_as_new()]);
    let started = &world.run().started;
    assert_eq!((&started.retry_policy, &started.memo), (&None, &None));
    assert_eq!(started.workflow_run_timeout, Some(Span::seconds(50).into()));
    assert_eq!(world.run().head.execution_expires_at, expires);
    assert_eq!(started.first_execution_run_id, world.runs[0].0.head.run_id);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 after=run1
        2 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}
