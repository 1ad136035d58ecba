//! Workflow tasks that keep failing: when lists and descriptions tell of it.

use expect_test::expect;
use perennial_engine::run::{Command, Limits, Terminate};
use perennial_proto::store::StickyQueue;

use crate::run::check;
use crate::run::kit::World;

const FAILED: [&str; 2] =
    ["category=WorkflowTaskFailed", "cause=WorkflowTaskFailedCauseWorkflowWorkerUnhandledFailure"];

#[test]
fn fifth_failure_in_a_row_is_reported_and_a_completed_task_takes_it_back() {
    let mut world = World::started();
    for _ in 0..4 {
        world.poll().fail_task();
    }
    assert!(world.run().reported_problems().is_empty());
    world.poll().fail_task();
    assert_eq!(world.run().reported_problems(), FAILED);
    let shown = world.run().shown_search_attributes().indexed_fields;
    assert!(shown.contains_key("TemporalReportedProblems"));
    world.poll().complete(vec![]);
    assert!(world.run().reported_problems().is_empty());
    let shown = world.run().shown_search_attributes().indexed_fields;
    assert!(!shown.contains_key("TemporalReportedProblems"));
}

#[test]
fn signals_between_failures_dont_make_them_fewer() {
    let mut world = World::started();
    for _ in 0..5 {
        world.poll().signal("a").fail_task();
    }
    assert_eq!(world.run().reported_problems(), FAILED);
}

#[test]
fn tasks_that_time_out_are_reported_with_their_timeout() {
    let mut world = World::started();
    world.limits = Limits { reported_task_failures: 2, ..Limits::default() };
    world.poll().seconds(10).poll().seconds(10);
    let timed_out =
        ["category=WorkflowTaskTimedOut", "cause=WorkflowTaskTimedOutCauseStartToClose"];
    assert_eq!(world.run().reported_problems(), timed_out);
}

#[test]
fn nothing_is_reported_when_the_limit_is_zero() {
    let mut world = World::started();
    world.limits = Limits { reported_task_failures: 0, ..Limits::default() };
    for _ in 0..9 {
        world.poll().fail_task();
    }
    assert!(world.run().reported_problems().is_empty());
}

#[test]
fn terminated_run_still_tells_that_its_task_kept_failing() {
    let mut world = World::started();
    for _ in 0..5 {
        world.poll().fail_task();
    }
    world.send(Command::Terminate(Terminate::default())).unwrap();
    assert_eq!(world.run().reported_problems(), FAILED);
}

#[test]
fn failure_of_the_worker_that_remembered_the_run_is_no_attempt() {
    let mut world = World::started();
    world.poll();
    let sticky = StickyQueue { name: "mine".to_owned(), schedule_to_start_nanos: 0 };
    world.complete_with("wf", |complete| complete.sticky = Some(sticky)).unwrap();
    world.signal("a").poll().fail_task().poll().fail_task();
    check(
        &world.tail(6),
        expect![[r#"
            6 WorkflowTaskScheduled attempt=1 queue=mine
            7 WorkflowTaskStarted
            8 WorkflowTaskFailed cause=WorkflowWorkerUnhandledFailure failure="boom"
            9 WorkflowTaskScheduled attempt=1 queue=queue
            10 WorkflowTaskStarted
            11 WorkflowTaskFailed cause=WorkflowWorkerUnhandledFailure failure="boom"
        "#]],
    );
    let problem = world.run().head.workflow_task_problem.clone().unwrap();
    assert_eq!(problem.failures, 1);
}
