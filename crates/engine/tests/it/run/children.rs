//! Children: started, watched, and what becomes of them when their parents close.

use expect_test::expect;
use perennial_engine::run::{Answer, Command, Terminate};
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::ParentClosePolicy::{
    Abandon, RequestCancel, Terminate as Kill,
};

use crate::run::check;
use crate::run::kit::World;
use crate::run::wanted::*;

#[test]
fn child_is_started_and_its_result_comes_back() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]);
    check(
        &world.waiting(),
        expect![[r#"
            send start child, event 5, to c
        "#]],
    );
    world.deliver().work("wf", vec![]).work("c", vec![complete("42")]).deliver();
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 StartChildWorkflowExecutionInitiated child=c namespace=default policy=Terminate
        6 ChildWorkflowExecutionStarted initiated=5 run=run2
        7 WorkflowTaskScheduled attempt=1 queue=queue
        8 WorkflowTaskStarted
        9 WorkflowTaskCompleted scheduled=7 started=8
        10 ChildWorkflowExecutionCompleted initiated=5 started=6 run=run2 result=42
        11 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
    check(
        &world.history_of("c"),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 parent=run1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionCompleted result=42
    "#]],
    );
}

#[test]
fn child_events_name_the_namespace_as_users_do() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]).deliver();
    let child = world.current("c").unwrap();
    assert_eq!(child.started.parent_workflow_namespace, "default");
    assert_eq!(child.started.parent_workflow_namespace_id, crate::run::kit::namespace().id);
    assert_eq!(child.head.parent_namespace, crate::run::kit::NAMESPACE.0);
    let root = child.started.root_workflow_execution.clone().unwrap();
    assert_eq!(root.run_id, world.run().head.run_id);
}

#[test]
fn child_that_closed_before_the_parent_knew_of_its_start_is_started_first() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]);
    let message = world.outbox.remove(0);
    world.deliver_one(&message);
    world.work("c", vec![fail("no")]).deliver();
    check(
        &world.tail(3),
        expect![[r#"
        6 ChildWorkflowExecutionStarted initiated=5 run=run2
        7 ChildWorkflowExecutionFailed initiated=5 started=6 failure="no"
        8 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn outcome_of_a_child_is_written_behind_its_start_when_both_waited() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]).signal("s").poll().deliver();
    world.work("c", vec![complete("")]).deliver().signal("t").complete(vec![]);
    check(
        &world.tail(4),
        expect![[r#"
        10 ChildWorkflowExecutionStarted initiated=5 run=run2
        11 WorkflowExecutionSignaled name=t
        12 ChildWorkflowExecutionCompleted initiated=5 started=10 run=run2
        13 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn messages_delivered_twice_take_effect_once() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]);
    let start = world.outbox[0].clone();
    world.deliver();
    let first = world.deliver_one(&start);
    assert!(matches!(&first, Answer::Started(_)));
    assert_eq!(world.deliver_one(&start), first);
    world.work("wf", vec![]).work("c", vec![complete("")]);
    let closed = world.outbox[0].clone();
    world.deliver();
    let before = world.history();
    assert_eq!(world.deliver_one(&closed), Answer::Taken);
    assert_eq!(world.history(), before);
}

#[test]
fn taken_id_fails_the_start_of_a_child() {
    let mut world = World::started();
    world.work("wf", vec![child("wf", Kill)]).deliver();
    check(
        &world.tail(2),
        expect![[r#"
        6 StartChildWorkflowExecutionFailed initiated=5 cause=WorkflowAlreadyExists
        7 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn parent_close_policies_decide_over_the_children() {
    let mut world = World::started();
    world.work("wf", vec![child("t", Kill), child("r", RequestCancel), child("a", Abandon)]);
    world.deliver().work("wf", vec![complete("")]).deliver();
    check(
        &world.tail_of("t", 1),
        expect![[r#"
        3 WorkflowExecutionTerminated reason="by parent close policy"
    "#]],
    );
    check(
        &world.tail_of("r", 2),
        expect![[r#"
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowExecutionCancelRequested from=run1
    "#]],
    );
    check(
        &world.tail_of("a", 1),
        expect![[r#"
        2 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn parent_close_policy_reaches_a_child_that_continued_as_new() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]).deliver().work("c", vec![continue_as_new()]);
    world.send(Command::Terminate(Terminate::default())).unwrap();
    world.deliver();
    check(
        &world.history_of("c"),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=1s after=run2 parent=run1
        2 WorkflowExecutionTerminated reason="by parent close policy"
    "#]],
    );
}

#[test]
fn children_belong_to_the_run_that_started_them() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]).deliver().work("wf", vec![continue_as_new()]);
    world.deliver();
    check(
        &world.tail_of("c", 1),
        expect![[r#"
        3 WorkflowExecutionTerminated reason="by parent close policy"
    "#]],
    );
}

#[test]
fn parent_hears_of_the_last_run_of_a_childs_chain() {
    let mut world = World::started();
    let retried = child_with("c", |it| it.retry_policy = Some(retries(2)));
    world.work("wf", vec![retried]).deliver().work("wf", vec![]);
    world.work("c", vec![fail("one")]).deliver();
    assert_eq!(world.run().children.len(), 1);
    world.seconds(1).work("c", vec![fail("two")]).deliver();
    check(
        &world.tail(2),
        expect![[r#"
        10 ChildWorkflowExecutionFailed initiated=5 started=6 failure="two"
        11 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn unread_message_of_a_child_start_carries_what_the_child_needs() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Kill)]);
    let Some(Body::StartRun(start)) = &world.outbox[0].body else { panic!("no start") };
    let started = start.started.clone().unwrap();
    assert_eq!(started.task_queue.unwrap().name, "queue");
    assert_eq!(started.parent_initiated_event_id, start.initiated_event_id);
}
