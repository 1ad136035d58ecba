//! A cell renews its lease before its keys run out, unnoticed by clients.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use perennial_engine::run::{Command, Signal};
use perennial_engine::{NamespaceKey, SlotRange, Time};
use perennial_proto::store::RunName;
use perennial_proto::temporal::enums::v1::{EventType, WorkflowExecutionStatus};
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{Runtime, RuntimeConfig};
use perennial_store::{MemoryStore, Store};

use crate::kit::{
    complete_workflow, completion, drive, event_types, idle_completion, name_in_cell, namespace,
    poller, start, start_child,
};

#[test]
fn keys_dont_repeat_across_leases() {
    const RUNS: usize = 40;
    let mut world = World::new(1, 3);
    let runs: Vec<i64> = (0..RUNS).map(|number| world.start(&format!("w-{number}"))).collect();

    let tasks = world.store.tasks(SlotRange::ALL, i64::MIN, usize::MAX).unwrap();
    let keys: BTreeSet<i64> = runs.iter().copied().chain(tasks.iter().map(|it| it.key)).collect();
    assert_eq!(keys.len(), 2 * RUNS);
    assert!(runs.is_sorted());
    let leases: BTreeSet<i64> = keys.iter().map(|key| key >> 32).collect();
    assert!(leases.len() >= 2 * RUNS / 4, "{leases:?}");
}

#[test]
fn decision_that_creates_nothing_takes_no_key() {
    let mut world = World::new(1, u32::MAX);
    let first = world.start("first");
    let target = RunName {
        namespace: world.namespace.0,
        workflow_id: "first".to_owned(),
        ..RunName::default()
    };
    for _ in 0..20 {
        let signal = Signal { attributes: Default::default(), links: Vec::new() };
        let command = Command::Signal(Box::new(signal));
        drive(&mut world.node, world.runtime.send(target.clone(), command)).unwrap();
    }
    // One key is that of the first run's workflow task.
    assert_eq!(world.start("second"), first + 2);
}

#[test]
fn callers_pollers_and_messages_outlive_a_lease() {
    // Whatever is created is followed by a new lease.
    let mut world = World::new(2, 1);
    let [parent, child] = [0, 1].map(|cell| name_in_cell(world.namespace, cell));
    world.start(&parent);
    let target = |workflow_id: &str| RunName {
        namespace: world.namespace.0,
        workflow_id: workflow_id.to_owned(),
        ..RunName::default()
    };
    let runtime = world.runtime.clone();
    let mut closed = std::pin::pin!(runtime.watch_close(target(&parent)));
    assert!(closed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());

    let poll = || runtime.poll_workflow_task(poller(world.namespace));
    let task = drive(&mut world.node, poll()).unwrap();
    let command = completion(&task, start_child(child.clone()));
    drive(&mut world.node, runtime.send(task.run.name(), command)).unwrap();
    loop {
        let task = drive(&mut world.node, poll()).unwrap();
        let events = drive(&mut world.node, event_types(&runtime, task.run.name()));
        let is_done = task.run.head.workflow_id == child
            || events.contains(&EventType::ChildWorkflowExecutionCompleted);
        let command = match is_done {
            true => completion(&task, complete_workflow()),
            false => idle_completion(&task),
        };
        drive(&mut world.node, runtime.send(task.run.name(), command)).unwrap();
        if task.run.head.workflow_id == parent && is_done {
            break;
        }
    }
    let Poll::Ready(watched) = closed.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the watcher of the parent got no answer");
    };
    assert_eq!(watched.unwrap().run.head.status(), WorkflowExecutionStatus::Completed);
    while world.node.take_any_turn() {}
    assert!(world.store.messages(SlotRange::ALL, i64::MIN, usize::MAX).unwrap().is_empty());
}

struct World {
    node: Node,
    runtime: Runtime,
    store: Arc<MemoryStore>,
    namespace: NamespaceKey,
}

impl World {
    fn new(cells: u32, keys_per_lease: u32) -> Self {
        let cells = Some(cells);
        let config = RuntimeConfig { cells, keys_per_lease, ..RuntimeConfig::default() };
        let store = Arc::new(MemoryStore::new());
        let disk: Arc<dyn Store> = store.clone();
        let mut node = Node::open(disk, &config, &Clock::at(Time(1_000)), 1).unwrap();
        let runtime = node.runtime();
        let namespace = drive(&mut node, namespace(&runtime));
        Self { node, runtime, store, namespace }
    }

    /// Starts a workflow. Returns the key of its run.
    fn start(&mut self, workflow_id: &str) -> i64 {
        let started = self.runtime.start(self.namespace, workflow_id.to_owned(), start("r"));
        drive(&mut self.node, started).unwrap().run.key.0
    }
}
