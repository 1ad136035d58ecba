//! Updates: accepted, completed, rejected, and cut short.

use expect_test::expect;
use perennial_engine::Span;
use perennial_engine::run::{Command, CompleteWorkflowTask, Reply};
use perennial_proto::temporal::command::v1::ProtocolMessageCommandAttributes;
use perennial_proto::temporal::command::v1::command::Attributes as Wanted;
use perennial_proto::temporal::enums::v1::CommandType;
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::update::v1::{Acceptance, Meta, Rejection, Request, Response};
use prost::{Message, Name};

use crate::run::check;
use crate::run::kit::{World, failure, start_request};
use crate::run::wanted::{command, complete, timer};

#[test]
fn rejected_update_on_an_idle_run_leaves_no_trace() {
    let mut world = idle();
    let before = world.history();
    world.send(Command::WantTaskForUpdate).unwrap();
    world.poll();
    let rejection = Rejection { failure: Some(failure("no")), ..Rejection::default() };
    world
        .complete_with("wf", |task| answer(task, "temporal.api.update.v1.Rejection", &rejection))
        .unwrap();
    assert_eq!(world.history(), before);
    assert_eq!(world.run().head.workflow_task, None);
}

#[test]
fn accepted_update_writes_its_task_down() {
    let mut world = idle();
    accept(&mut world);
    check(
        &world.tail(4),
        expect![[r#"
        5 WorkflowTaskScheduled attempt=1 queue=queue
        6 WorkflowTaskStarted
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 WorkflowExecutionUpdateAccepted id=u
    "#]],
    );
    let response = Response { meta: Some(meta()), ..Response::default() };
    world.signal("s").poll();
    world.complete_with("wf", |task| answer(task, &name::<Response>(), &response)).unwrap();
    check(
        &world.tail(1),
        expect![[r#"
        13 WorkflowExecutionUpdateCompleted accepted=8
    "#]],
    );
}

#[test]
fn accepted_update_has_an_outcome_when_the_run_closes_before_it() {
    let mut world = idle();
    accept(&mut world);
    world.signal("s").poll().complete(vec![complete("")]);
    let update = world.run().updates["u"].clone();
    check(
        &format!("{:?}", update.outcome.as_ref().map(|it| it.value.is_some())),
        expect!["Some(true)"],
    );
}

#[test]
fn accepted_update_is_admitted_by_an_event_after_a_reset() {
    let mut world = idle();
    accept(&mut world);
    world.reset(4, |_| {}).unwrap();
    check(
        &world.tail(3),
        expect![[r#"
        4 WorkflowTaskFailed cause=ResetWorkflow failure="try again" base=run1 new=run2
        5 WorkflowExecutionUpdateAdmitted id=u origin=Reapply
        6 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
    assert!(world.run().updates["u"].admitted_request.is_some());
    world.poll();
    world.complete_with("wf", accept_with).unwrap();
    check(
        &world.tail(2),
        expect![[r#"
        8 WorkflowTaskCompleted scheduled=6 started=7
        9 WorkflowExecutionUpdateAccepted id=u
    "#]],
    );
    world
        .reset(4, |reset| {
            reset.exclude_updates = true;
            reset.request_id = "second".to_owned();
        })
        .unwrap();
    check(
        &world.tail(2),
        expect![[r#"
        4 WorkflowTaskFailed cause=ResetWorkflow failure="try again" base=run2 new=run3
        5 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn task_for_an_update_is_offered_again_when_it_is_written_down() {
    let mut world = idle();
    world.send(Command::WantTaskForUpdate).unwrap();
    world.offers.clear();
    world.signal("s");
    check(
        &world.waiting(),
        expect![[r#"
        offer workflow task of run1: event 5 attempt 1 on queue
    "#]],
    );
}

#[test]
fn update_reaches_a_run_in_its_start_delay() {
    let mut world = delayed();
    accept(&mut world);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1 backoff=100s
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionUpdateAccepted id=u
    "#]],
    );
    world.seconds(100);
    assert_eq!(world.run().head.workflow_task, None, "the workflow has had its first task");
}

#[test]
fn rejected_update_leaves_the_start_delay_as_it_was() {
    let mut world = delayed();
    world.send(Command::WantTaskForUpdate).unwrap();
    world.poll();
    reject(&mut world);
    assert_eq!(world.history().lines().count(), 1);
    world.seconds(100);
    check(
        &world.tail(1),
        expect![[r#"
        2 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn first_task_that_is_due_while_an_update_is_looked_at_outlives_the_update() {
    let mut world = delayed();
    world.send(Command::WantTaskForUpdate).unwrap();
    world.seconds(99).poll().seconds(1);
    reject(&mut world);
    check(
        &world.tail(3),
        expect![[r#"
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
    "#]],
    );
}

#[test]
fn worker_goes_back_to_the_start_of_its_last_task_if_it_can() {
    for can_forget in [true, false] {
        let mut world = World::started();
        world.poll().complete(vec![timer("t", 100)]);
        world.send(Command::WantTaskForUpdate).unwrap();
        world.poll();
        let reply = world.complete_with("wf", |task| {
            task.can_forget_events = can_forget;
            answer(task, &name::<Rejection>(), &Rejection::default());
        });
        let Ok(Reply::WorkflowTaskCompleted(completed)) = reply else { panic!("{reply:?}") };
        assert_eq!(completed.reset_history_event_id, if can_forget { 3 } else { 0 });
        assert_eq!(world.history().lines().count(), if can_forget { 5 } else { 8 });
    }
}

#[test]
fn workflow_whose_task_keeps_failing_takes_no_updates() {
    let mut world = World::started();
    world.poll().fail_task();
    assert!(world.run().may_be_updated().is_ok());
    world.poll().fail_task();
    let refused = world.run().may_be_updated().unwrap_err();
    assert!(refused.to_string().ends_with("due to Workflow Task in failed state."));
}

#[test]
fn run_takes_so_many_updates_and_no_more() {
    let mut world = idle();
    world.limits.updates = 1;
    assert!(world.run().may_admit_update("u", 0, &world.limits).is_ok());
    accept(&mut world);
    assert!(world.run().may_admit_update("u", 0, &world.limits).is_ok(), "it is the same one");
    let refused = world.run().may_admit_update("v", 0, &world.limits).unwrap_err();
    assert!(refused.to_string().starts_with("The limit on the total number of distinct updates"));
}

fn idle() -> World {
    let mut world = World::started();
    world.poll().complete(vec![]);
    world
}

fn delayed() -> World {
    let mut request = start_request();
    request.delay = Span::seconds(100);
    let mut world = World::new();
    world.start(request).expect("the start is good");
    world
}

fn reject(world: &mut World) {
    let rejection = Rejection::default();
    world
        .complete_with("wf", |task| answer(task, &name::<Rejection>(), &rejection))
        .expect("the worker has the task");
}

fn accept(world: &mut World) {
    world.send(Command::WantTaskForUpdate).expect("the run is open");
    world.poll();
    world.complete_with("wf", accept_with).expect("the update was given to the worker");
}

fn accept_with(task: &mut CompleteWorkflowTask) {
    let request = Request { meta: Some(meta()), ..Request::default() };
    task.admitted_updates.insert("u".to_owned(), request);
    let acceptance = Acceptance::default();
    answer(task, &name::<Acceptance>(), &acceptance);
}

fn meta() -> Meta {
    Meta { update_id: "u".to_owned(), identity: String::new() }
}

fn name<T: Name>() -> String {
    T::full_name()
}

fn answer(task: &mut CompleteWorkflowTask, kind: &str, body: &impl Message) {
    let body = perennial_proto::Any {
        type_url: format!("type.googleapis.com/{kind}"),
        value: body.encode_to_vec(),
    };
    task.messages.push(ProtocolMessage {
        id: "m".to_owned(),
        protocol_instance_id: "u".to_owned(),
        body: Some(body),
        ..ProtocolMessage::default()
    });
    if !kind.ends_with("Rejection") {
        let attributes = ProtocolMessageCommandAttributes { message_id: "m".to_owned() };
        task.commands.push(command(
            CommandType::ProtocolMessage,
            Wanted::ProtocolMessageCommandAttributes(attributes),
        ));
    }
}
