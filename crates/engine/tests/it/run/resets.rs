//! Resets: a run begins anew from a point of another one's history.

use expect_test::expect;
use perennial_engine::run::ActivityOutcome::Completed;
use perennial_engine::run::{Effect, ResetRun, reset};
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::EventType;
use perennial_proto::temporal::enums::v1::ParentClosePolicy::Terminate;
use perennial_proto::temporal::history::v1::HistoryEvent;

use crate::run::check;
use crate::run::kit::{World, signal};
use crate::run::wanted::*;

#[test]
fn reset_run_keeps_the_history_before_the_point_and_gets_later_signals() {
    let mut world = World::started();
    world.work("wf", vec![activity("a")]).signal("s").work("wf", vec![timer("t", 60)]);
    world.reset(4, |_| {}).unwrap();
    check(
        &world.history_at(0),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled id=a
        6 WorkflowExecutionSignaled name=s
        7 WorkflowTaskScheduled attempt=1 queue=queue
        8 WorkflowTaskStarted
        9 WorkflowTaskCompleted scheduled=7 started=8
        10 TimerStarted id=t
        11 WorkflowExecutionTerminated reason="try again"
    "#]],
    );
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskFailed cause=ResetWorkflow failure="try again" base=run1 new=run2
        5 WorkflowExecutionSignaled name=s
        6 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
    let run = world.run();
    assert_eq!(run.head.ancestors.len(), 1);
    assert_eq!(run.head.ancestors[0].last_event_id, 3);
    assert_eq!(world.runs[0].0.head.reset_run_id, run.head.run_id);
    assert!(run.activities.is_empty() && run.timers.is_empty());
    world.work("wf", vec![complete("")]);
}

#[test]
fn later_signals_stay_behind_when_they_are_excluded() {
    let mut world = World::started();
    world.work("wf", vec![]).signal("s");
    world.reset(4, |reset| reset.exclude_signals = true).unwrap();
    check(
        &world.tail(2),
        expect![[r#"
        4 WorkflowTaskFailed cause=ResetWorkflow failure="try again" base=run1 new=run2
        5 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn signal_that_waited_in_the_buffer_comes_along() {
    let mut world = World::started();
    world.poll().signal("s");
    world.reset(3, |_| {}).unwrap();
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskFailed cause=ResetWorkflow failure="try again" base=run1 new=run2
        5 WorkflowExecutionSignaled name=s
        6 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn pending_activity_is_offered_again() {
    let mut world = World::started();
    world.work("wf", vec![activity("a")]).signal("s").poll();
    world.offers.clear();
    world.reset(8, |_| {}).unwrap();
    check(
        &world.waiting(),
        expect![[r#"
        offer activity of run2: event 5 attempt 1 on queue
        offer workflow task of run2: event 10 attempt 1 on queue
    "#]],
    );
    world.poll_activity("a").report("a", Completed(None));
}

#[test]
fn child_of_a_reset_run_reports_to_the_new_one() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Terminate)]).deliver().work("wf", vec![]);
    world.reset(9, |_| {}).unwrap();
    world.deliver();
    assert!(world.current("c").unwrap().is_open(), "a reset doesn't close the children");
    world.work("c", vec![complete("42")]).deliver();
    check(
        &world.tail(3),
        expect![[r#"
        9 WorkflowTaskFailed cause=ResetWorkflow failure="try again" base=run1 new=run3
        10 WorkflowTaskScheduled attempt=1 queue=queue
        11 ChildWorkflowExecutionCompleted initiated=5 started=6 run=run2 result=42
    "#]],
    );
}

#[test]
fn close_policy_of_a_reset_run_reaches_the_children_of_the_old_one() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Terminate)]).deliver().work("wf", vec![]);
    world.reset(9, |_| {}).unwrap();
    world.work("wf", vec![complete("")]).deliver();
    check(
        &world.tail_of("c", 1),
        expect![[r#"
        3 WorkflowExecutionTerminated reason="by parent close policy"
    "#]],
    );
}

#[test]
fn reset_of_a_reset_run_names_the_branches_of_both() {
    let mut world = World::started();
    world.work("wf", vec![timer("t", 60)]).signal("s").poll();
    world.reset(8, |_| {}).unwrap();
    world.poll().complete(vec![]).signal("u").poll();
    let last = world.run().head.next_event_id - 1;
    world.reset(last, |reset| reset.request_id = "second".to_owned()).unwrap();
    let ranges: Vec<_> = world.run().head.ancestors.iter().map(|it| it.last_event_id).collect();
    assert_eq!(ranges, [7, last - 1]);
    world.reset(4, |reset| reset.request_id = "third".to_owned()).unwrap();
    let ranges: Vec<_> = world.run().head.ancestors.iter().map(|it| it.last_event_id).collect();
    assert_eq!(ranges, [3]);
}

#[test]
fn same_reset_twice_makes_one_run() {
    let mut world = World::started();
    world.work("wf", vec![timer("t", 60)]);
    world.reset(4, |_| {}).unwrap();
    world.reset(4, |_| {}).unwrap();
    assert_eq!(world.runs.len(), 2);
}

#[test]
fn points_that_are_none_are_refused() {
    let mut world = World::started();
    world.work("wf", vec![timer("t", 60)]);
    let mut text = String::new();
    for event_id in [1, 2, 5, 100] {
        text += &format!("{}\n", world.reset(event_id, |_| {}).unwrap_err());
    }
    check(
        &text,
        expect![[r#"
        Workflow task finish ID must be > 1 && <= workflow last event ID.
        Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 2
        Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 5
        Workflow task finish ID must be > 1 && <= workflow last event ID.
    "#]],
    );
}

#[test]
fn signal_that_two_runs_of_a_chain_took_comes_to_the_new_run_once() {
    let mut world = World::started();
    world.work("wf", vec![]);
    world.send(signal("s", "request")).unwrap();
    let base = world.run().clone();
    let events = world.events(&base.head.run_id).to_vec();
    let (kept, later) = events.split_at(3);
    let later = [later, later].concat();
    let done = world
        .with_context(|cx| reset(&base, kept, &later, Some(&base), request(4), cx))
        .expect("the point is good");
    let is_signal =
        |event: &&HistoryEvent| event.event_type() == EventType::WorkflowExecutionSignaled;
    let created = done.created.expect("it is the first of its kind");
    assert_eq!(created.events.iter().filter(is_signal).count(), 1);
}

#[test]
fn run_that_only_has_the_same_workflow_id_ends_when_an_earlier_one_is_reset() {
    let mut world = World::started();
    world.work("wf", vec![child("c", Terminate)]).deliver();
    world.work("c", vec![complete("")]).deliver();
    world.work("wf", vec![child("c", Terminate)]).deliver();
    let current = world.current("c").expect("it was started again").clone();
    let runs = world.runs.iter().filter(|(run, _)| run.head.workflow_id == "c");
    let (base, events) = runs.clone().next().expect("it was started").clone();
    let (kept, later) = events.split_at(3);
    let done = world
        .with_context(|cx| reset(&base, kept, later, Some(&current), request(4), cx))
        .expect("the point is good");
    let ended = done.current.expect("it was open");
    assert_eq!(ended.run.head.reset_run_id, "", "it doesn't go on");
    let is_told = |effect: &Effect| matches!(effect, Effect::Send(message) if matches!(message.body, Some(Body::ChildClosed(_))));
    assert!(ended.effects.iter().any(is_told), "its parent hears of it");
}

fn request(event_id: i64) -> ResetRun {
    ResetRun {
        request_id: "reset".to_owned(),
        reason: "try again".to_owned(),
        event_id,
        exclude_signals: false,
        exclude_updates: false,
        namespaces: Default::default(),
    }
}
