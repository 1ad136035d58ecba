//! Starts: policies, request ids, delays.

use expect_test::expect;
use perennial_engine::Span;
use perennial_engine::run::{Command, RequestCancel, Terminate};
use perennial_proto::temporal::enums::v1::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy};

use crate::run::check;
use crate::run::kit::{World, signal_attributes, start_request};
use crate::run::wanted::*;

#[test]
fn start_of_the_same_request_finds_its_run() {
    let mut world = World::started();
    world.start(start_request()).unwrap();
    world.work("wf", vec![complete("")]);
    world.start(start_request()).unwrap();
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn policies_decide_whether_an_id_is_used_again() {
    use WorkflowIdReusePolicy as Reuse;
    let mut text = String::new();
    for policy in [Reuse::AllowDuplicate, Reuse::AllowDuplicateFailedOnly, Reuse::RejectDuplicate] {
        for end in [complete(""), fail("")] {
            let mut world = World::started();
            world.work("wf", vec![end]);
            let mut request = start_request();
            request.request_id = "another".to_owned();
            request.reuse_policy = policy;
            let allowed = world.start(request).is_ok();
            text += &format!("{policy:?} after {:?}: {allowed}\n", world.runs[0].0.head.status());
        }
    }
    check(
        &text,
        expect![[r#"
        AllowDuplicate after Completed: true
        AllowDuplicate after Failed: true
        AllowDuplicateFailedOnly after Completed: false
        AllowDuplicateFailedOnly after Failed: true
        RejectDuplicate after Completed: false
        RejectDuplicate after Failed: false
    "#]],
    );
}

#[test]
fn start_may_terminate_the_run_that_has_the_id() {
    let mut world = World::started();
    let mut request = start_request();
    request.request_id = "another".to_owned();
    request.conflict_policy = WorkflowIdConflictPolicy::TerminateExisting;
    world.start(request).unwrap();
    check(
        &world.history_at(0),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowExecutionTerminated reason="TerminateIfRunning WorkflowIdReusePolicy" details="terminated by new runID: run2"
    "#]],
    );
}

#[test]
fn signal_is_recorded_and_waits_out_the_delay() {
    let mut world = delayed();
    world.signal("s");
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=100s
        2 WorkflowExecutionSignaled name=s
    "#]],
    );
    world.seconds(100);
    check(
        &world.tail(1),
        expect![[r#"
        3 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn cancel_request_ends_the_delay() {
    let mut world = delayed();
    world.send(Command::RequestCancel(RequestCancel::default())).unwrap();
    check(
        &world.tail(2),
        expect![[r#"
        2 WorkflowExecutionCancelRequested
        3 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn signal_with_start_ends_the_delay_of_a_run_that_is_there() {
    let mut world = delayed();
    let mut request = start_request();
    request.request_id = "another".to_owned();
    request.conflict_policy = WorkflowIdConflictPolicy::UseExisting;
    request.signal = Some(Box::new(signal_attributes("s", "")));
    world.start(request).unwrap();
    check(
        &world.tail(2),
        expect![[r#"
        2 WorkflowExecutionSignaled name=s
        3 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn run_timeout_counts_from_the_end_of_the_delay_and_execution_timeout_from_the_start() {
    let mut request = start_request();
    request.delay = Span::seconds(100);
    request.started.workflow_execution_timeout = Some(Span::seconds(50).into());
    let mut world = World::new();
    world.start(request).unwrap();
    world.seconds(49);
    assert!(world.run().is_open());
    world.seconds(1);
    check(
        &world.tail(1),
        expect![[r#"
        2 WorkflowExecutionTimedOut retry=Timeout
    "#]],
    );
    let mut request = start_request();
    request.delay = Span::seconds(100);
    request.started.workflow_run_timeout = Some(Span::seconds(50).into());
    let mut world = World::new();
    world.start(request).unwrap();
    world.seconds(149);
    assert!(world.run().is_open());
    world.seconds(1);
    assert!(!world.run().is_open());
}

#[test]
fn terminated_run_leaves_its_id_to_others() {
    let mut world = World::started();
    world.send(Command::Terminate(Terminate::default())).unwrap();
    let mut request = start_request();
    request.request_id = "another".to_owned();
    world.start(request).unwrap();
    assert_eq!(world.runs.len(), 2);
}

fn delayed() -> World {
    let mut request = start_request();
    request.delay = Span::seconds(100);
    let mut world = World::new();
    world.start(request).expect("the start is good");
    world
}
