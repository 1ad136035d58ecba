//! What the end of a run leaves behind.

use perennial_engine::Span;
use perennial_engine::run::ActivityOutcome::Failed;
use perennial_engine::run::{Command, FailWorkflowTask, Rejection, Terminate};
use perennial_proto::temporal::command::v1::ScheduleActivityTaskCommandAttributes;
use perennial_proto::temporal::enums::v1::{WorkflowExecutionStatus, WorkflowTaskFailedCause};

use crate::run::kit::{World, failure, payloads, token};
use crate::run::wanted::*;

#[test]
fn closed_run_remembers_what_was_pending_without_its_inputs() {
    let mut world = World::started();
    let input = |it: &mut ScheduleActivityTaskCommandAttributes| {
        it.input = payloads("large");
        it.retry_policy = Some(retries(3));
    };
    world.poll().complete(vec![activity_with("a", input), timer("t", 60)]);
    world.poll_activity("a").report("a", Failed(Some(failure("one")), None));
    world.signal("wake up");
    world.poll().complete(vec![complete("")]);
    let run = world.run();
    let left = run.head.pending_at_close.clone().unwrap();
    let [activity] = &left.activities[..] else { panic!("{left:?}") };
    assert_eq!(activity.attempt, 2);
    assert_eq!(activity.last_failure, Some(failure("one")));
    assert_eq!(activity.scheduled.as_ref().unwrap().input, None);
    assert!(left.workflow_task.is_none());
    // It is only a memory: nothing of it happens.
    assert!(run.activities.is_empty());
    assert_eq!(run.wake_at(), None);
    let late = world.try_report("a", Failed(Some(failure("two")), None));
    assert_eq!(late, Err(Rejection::AlreadyClosed));
}

#[test]
fn closed_run_remembers_a_task_that_nobody_took_and_no_other() {
    let mut world = World::started();
    world.send(Command::Terminate(Terminate::default())).unwrap();
    assert!(world.run().head.pending_at_close.clone().unwrap().workflow_task.is_some());

    let mut world = World::started();
    world.poll().send(Command::Terminate(Terminate::default())).unwrap();
    assert_eq!(world.run().head.pending_at_close, None);
}

#[test]
fn what_workers_said_is_forgotten_of_activities_beyond_a_size() {
    let mut world = World::started();
    let ids: Vec<_> = (0..40).map(|n| format!("a{n}")).collect();
    let once = |it: &mut ScheduleActivityTaskCommandAttributes| {
        it.retry_policy = Some(retries(3));
    };
    world.poll().complete(ids.iter().map(|id| activity_with(id, once)).collect());
    let said = failure(&"x".repeat(20 * 1024));
    for id in &ids {
        world.poll_activity(id).report(id, Failed(Some(said.clone()), None));
    }
    world.send(Command::Terminate(Terminate::default())).unwrap();
    let left = world.run().head.pending_at_close.clone().unwrap();
    assert_eq!(left.activities.len(), ids.len());
    let with_failure = left.activities.iter().filter(|it| it.last_failure.is_some()).count();
    assert_eq!(with_failure, 12);
}

#[test]
fn answer_too_large_to_be_sent_ends_the_run() {
    let mut world = World::started();
    world.poll();
    let fail = FailWorkflowTask {
        token: token(world.run()),
        cause: WorkflowTaskFailedCause::GrpcMessageTooLarge,
        failure: Some(failure("too large")),
        identity: "worker".to_owned(),
        binary_checksum: String::new(),
    };
    world.send(Command::FailWorkflowTask(Box::new(fail))).unwrap();
    assert_eq!(world.run().head.status(), WorkflowExecutionStatus::Terminated);
    assert_eq!(world.wait(Span::seconds(60)).waiting(), "");
}
