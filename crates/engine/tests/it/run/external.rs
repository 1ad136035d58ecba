//! Signals and cancel requests from one workflow to another.

use expect_test::expect;
use perennial_engine::run::Answer;
use perennial_proto::temporal::enums::v1::ParentClosePolicy::Abandon;

use crate::run::check;
use crate::run::kit::World;
use crate::run::wanted::*;

#[test]
fn signal_to_a_child_is_delivered_and_confirmed() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Abandon)]).deliver();
    world.work("wf", vec![signal_external("c", true)]).deliver();
    check(
        &world.tail(3),
        expect![[r#"
        10 SignalExternalWorkflowExecutionInitiated to=c
        11 ExternalWorkflowExecutionSignaled initiated=10
        12 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
    check(
        &world.tail_of("c", 1),
        expect![[r#"
        3 WorkflowExecutionSignaled name=hello from=run1
    "#]],
    );
}

#[test]
fn signal_delivered_twice_is_taken_once() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Abandon)]).deliver();
    world.work("wf", vec![signal_external("c", false)]);
    let message = world.outbox[0].clone();
    world.deliver();
    assert_eq!(world.deliver_one(&message), Answer::Taken);
    assert_eq!(world.current("c").unwrap().head.signal_count, 1);
    world.work("c", vec![complete("")]);
    assert_eq!(world.deliver_one(&message), Answer::Taken);
}

#[test]
fn signal_to_nobody_itself_or_a_stranger_that_should_be_a_child_fails() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Abandon)]).deliver().work("wf", vec![continue_as_new()]);
    world.seconds(1);
    let to =
        vec![signal_external("x", false), signal_external("wf", false), signal_external("c", true)];
    world.work("wf", to).deliver();
    check(
        &world.tail(4),
        expect![[r#"
        8 SignalExternalWorkflowExecutionFailed initiated=5 cause=ExternalWorkflowExecutionNotFound
        9 WorkflowTaskScheduled attempt=1 queue=queue
        10 SignalExternalWorkflowExecutionFailed initiated=6 cause=ExternalWorkflowExecutionNotFound
        11 SignalExternalWorkflowExecutionFailed initiated=7 cause=ExternalWorkflowExecutionNotFound
    "#]],
    );
}

#[test]
fn full_receiver_fails_the_signal() {
    let mut world = World::started();
    world.limits.signals = 0;
    world.work("wf", vec![child("c", Abandon)]).deliver();
    world.work("wf", vec![signal_external("c", false)]).deliver();
    check(
        &world.tail(2),
        expect![[r#"
        11 SignalExternalWorkflowExecutionFailed initiated=10 cause=SignalCountLimitExceeded
        12 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn cancel_request_reaches_open_runs_and_succeeds_on_closed_ones() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Abandon)]).deliver();
    world.work("wf", vec![cancel_external("c")]).deliver();
    check(
        &world.tail(2),
        expect![[r#"
        11 ExternalWorkflowExecutionCancelRequested initiated=10
        12 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
    check(
        &world.tail_of("c", 1),
        expect![[r#"
        3 WorkflowExecutionCancelRequested from=run1
    "#]],
    );
    world.work("c", vec![cancel()]).deliver();
    world.work("wf", vec![cancel_external("c"), cancel_external("x")]).deliver();
    check(
        &world.tail(3),
        expect![[r#"
        18 ExternalWorkflowExecutionCancelRequested initiated=16
        19 WorkflowTaskScheduled attempt=1 queue=queue
        20 RequestCancelExternalWorkflowExecutionFailed initiated=17 cause=ExternalWorkflowExecutionNotFound
    "#]],
    );
}

#[test]
fn child_of_the_same_task_cannot_be_canceled() {
    let mut world = World::started();
    world.poll();
    let refused = world.try_complete(vec![child("c", Abandon), cancel_external("c")]);
    check(
        &refused.unwrap_err().to_string(),
        expect![
            "BadRequestCancelExternalWorkflowExecutionAttributes: Start and RequestCancel for child workflow is not allowed in same workflow task. WorkflowId=c RunId= Namespace="
        ],
    );
}
