//! Order of work in a cell: due wake-ups before later responses, and the tasks that workers get.

use std::sync::Arc;

use perennial_engine::run::{Command, StartRun, Terminate};
use perennial_engine::{NamespaceKey, SlotRange, Span, Time};
use perennial_proto::store::RunName;
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{RuntimeConfig, WorkflowTaskGrant};
use perennial_store::{MemoryStore, Store};

use crate::kit::{complete_workflow, completion, drive, namespace, poller, start};

const NOW: Time = Time(1_000);
/// More than are handled in a step.
const MANY: usize = 200;

struct World {
    node: Node,
    clock: Clock,
    store: Arc<MemoryStore>,
    namespace: NamespaceKey,
    /// A task that a worker has.
    task: WorkflowTaskGrant,
}

/// A worker has been given a task.
fn world() -> World {
    let (clock, store) = (Clock::at(NOW), Arc::new(MemoryStore::new()));
    let as_store = Arc::clone(&store) as Arc<dyn Store>;
    let mut node = Node::open(as_store, &RuntimeConfig::default(), &clock, 1).unwrap();
    let runtime = node.runtime();
    let namespace = drive(&mut node, namespace(&runtime));
    drive(&mut node, runtime.start(namespace, "answered".to_owned(), start("r"))).unwrap();
    let task = drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    World { node, clock, store, namespace, task }
}

impl World {
    /// Many runs get their first task after this long.
    fn make_due(&mut self, name: &str, delay: Span) {
        let runtime = self.node.runtime();
        for n in 0..MANY {
            let start = StartRun { delay, ..start("r") };
            let started = runtime.start(self.namespace, format!("{name}-{n}"), start);
            drive(&mut self.node, started).unwrap();
        }
    }

    /// How many tasks there are.
    fn tasks(&self) -> usize {
        self.store.tasks(SlotRange::ALL, i64::MIN, 1_000).unwrap().len()
    }
}

#[test]
fn an_answer_waits_for_what_was_due_before_it_came() {
    let mut world = world();
    world.make_due("sleeper", Span::seconds(4));
    assert_eq!(world.tasks(), 0);
    world.clock.set(NOW.after(Span::seconds(5)));
    let completed = completion(&world.task, complete_workflow());
    let runtime = world.node.runtime();
    drive(&mut world.node, runtime.send(world.task.run.name(), completed)).unwrap();
    assert_eq!(world.tasks(), MANY, "all are ready for a worker by the time the answer is taken");
}

#[test]
fn an_answer_that_waits_goes_before_what_is_due_later() {
    let mut world = world();
    world.make_due("first", Span::seconds(4));
    world.make_due("second", Span::seconds(6));
    world.clock.set(NOW.after(Span::seconds(5)));
    let completed = completion(&world.task, complete_workflow());
    let runtime = world.node.runtime();
    let mut answered = std::pin::pin!(runtime.send(world.task.run.name(), completed));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(answered.as_mut().poll(&mut cx).is_pending());
    world.node.step(0, usize::MAX);
    world.clock.set(NOW.after(Span::seconds(7)));
    drive(&mut world.node, answered).unwrap();
    let tasks = world.tasks();
    assert!((MANY..2 * MANY).contains(&tasks), "{tasks} of both were ready when it was taken");
}

#[test]
fn a_worker_who_waits_has_a_task_with_the_commit_that_makes_it() {
    let mut world = world();
    let (runtime, namespace) = (world.node.runtime(), world.namespace);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut polled = std::pin::pin!(runtime.poll_workflow_task(poller(namespace)));
    assert!(polled.as_mut().poll(&mut cx).is_pending());

    drive(&mut world.node, runtime.start(namespace, "next".to_owned(), start("r"))).unwrap();
    let std::task::Poll::Ready(given) = polled.as_mut().poll(&mut cx) else {
        panic!("whoever started it has heard of the commit, and the worker hasn't");
    };
    assert_eq!(given.unwrap().run.head.workflow_id, "next");
    assert_eq!(world.tasks(), 0, "it never waited");
}

#[test]
fn a_task_that_waited_for_its_commit_goes_before_one_that_is_made_after_it() {
    let mut world = world();
    let (runtime, namespace) = (world.node.runtime(), world.namespace);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut first = std::pin::pin!(runtime.start(namespace, "first".to_owned(), start("r")));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    while world.node.uncommitted() == 0 {
        assert!(world.node.take_any_turn());
    }

    let mut polled = std::pin::pin!(runtime.poll_workflow_task(poller(namespace)));
    assert!(polled.as_mut().poll(&mut cx).is_pending());
    let mut second = std::pin::pin!(runtime.start(namespace, "second".to_owned(), start("r")));
    assert!(second.as_mut().poll(&mut cx).is_pending());
    world.node.step(0, usize::MAX);
    world.node.read(0);
    world.node.commit(1);
    let given = drive(&mut world.node, polled).unwrap();
    assert_eq!(given.run.head.workflow_id, "first");
}

#[test]
fn a_task_that_is_gone_by_the_end_of_its_step_is_given_to_nobody() {
    let mut world = world();
    let (runtime, namespace) = (world.node.runtime(), world.namespace);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut polled = std::pin::pin!(runtime.poll_workflow_task(poller(namespace)));
    assert!(polled.as_mut().poll(&mut cx).is_pending());

    let mut started = std::pin::pin!(runtime.start(namespace, "brief".to_owned(), start("r")));
    assert!(started.as_mut().poll(&mut cx).is_pending());
    let target =
        RunName { namespace: namespace.0, workflow_id: "brief".to_owned(), ..RunName::default() };
    let ended = runtime.send(target, Command::Terminate(Terminate::default()));
    let ended = drive(&mut world.node, ended).unwrap().run;
    assert_eq!(ended.last_event_id(), 3, "started, a task scheduled, terminated");

    assert!(polled.as_mut().poll(&mut cx).is_pending(), "the worker waits on");
    drive(&mut world.node, runtime.start(namespace, "next".to_owned(), start("r"))).unwrap();
    let given = drive(&mut world.node, polled).unwrap();
    assert_eq!(given.run.head.workflow_id, "next");
}
