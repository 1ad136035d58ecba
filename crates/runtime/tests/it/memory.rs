//! A node stays within its memory budget, and still serves every request.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use perennial_engine::run::{Command, Signal};
use perennial_engine::{NamespaceKey, SlotRange, Time};
use perennial_proto::store::RunName;
use perennial_proto::temporal::common::v1::{Payload, Payloads};
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{Refusal, Runtime, RuntimeConfig, Started};
use perennial_store::{MemoryStore, Store};

use crate::kit::{QUEUE, drive, namespace, poller, start};

const KB: usize = 1024;

#[test]
fn runs_in_memory_are_bounded_by_bytes() {
    let mut world = World::new(8_000 * KB);
    for number in 0..30 {
        world.start(&format!("w-{number}"), 500 * KB).unwrap();
        world.node_at_rest();
        let bytes = world.node.cached_bytes();
        assert!(bytes <= 3_000 * KB, "{bytes} bytes after {number} runs");
    }
    for number in 0..30 {
        world.signal(&format!("w-{number}"));
        world.node_at_rest();
        assert!(world.node.cached_bytes() <= 3_000 * KB);
    }
}

#[test]
fn requests_without_room_are_refused_and_those_with_room_served() {
    // A sixteenth of it is for requests.
    let mut world = World::new(16 * 100 * KB);
    let runtime = world.runtime.clone();
    let ids = || (0..30).map(|number| format!("w-{number}"));
    let start = |id| runtime.start(world.namespace, id, large_start(10 * KB));
    let mut starts: Vec<_> = ids().map(|id| Box::pin(start(id))).collect();
    let mut cx = Context::from_waker(Waker::noop());
    let mut refused = 0;
    starts.retain_mut(|start| match start.as_mut().poll(&mut cx) {
        Poll::Pending => true,
        Poll::Ready(answer) => {
            assert!(matches!(answer, Err(Refusal::Overloaded(_))), "{answer:?}");
            refused += 1;
            false
        }
    });
    assert_eq!((starts.len(), refused), (9, 21));
    for start in starts {
        drive(&mut world.node, start).unwrap();
    }
    for id in ids() {
        world.start(&id, 10 * KB).unwrap();
    }
}

#[test]
fn run_that_is_larger_than_the_budget_is_served() {
    let mut world = World::new(1_000 * KB);
    for id in ["small", "large", "larger"] {
        let bytes = if id == "small" { KB } else { 1_900 * KB };
        world.start(id, bytes).unwrap();
    }
    for id in ["larger", "small", "large", "larger"] {
        world.signal(id);
        world.node_at_rest();
    }
    for _ in 0..3 {
        let polled = world.runtime.poll_workflow_task(poller(world.namespace));
        drive(&mut world.node, polled).unwrap();
    }
}

#[test]
fn backlog_longer_than_its_memory_is_handed_out_in_order_also_by_another_server() {
    const TASKS: usize = 300;
    let mut world = World::new(80 * KB);
    let ids: Vec<String> = (0..TASKS).map(|number| format!("w-{number}")).collect();
    for id in &ids {
        world.start(id, 10).unwrap();
    }
    assert_eq!(world.backlog(), TASKS as i64);
    let (first, second) = ids.split_at(TASKS / 2);
    assert_eq!(world.polled(first.len()), first);
    assert_eq!(world.backlog(), second.len() as i64);

    let mut world = world.begin_again();
    assert_eq!(world.backlog(), second.len() as i64);
    assert_eq!(world.polled(second.len()), second);
    assert_eq!(world.backlog(), 0);
    assert!(world.store.tasks(SlotRange::ALL, i64::MIN, usize::MAX).unwrap().is_empty());
}

struct World {
    store: Arc<MemoryStore>,
    config: RuntimeConfig,
    node: Node,
    runtime: Runtime,
    namespace: NamespaceKey,
}

impl World {
    fn new(memory_budget: usize) -> Self {
        let config = RuntimeConfig { memory_budget, ..RuntimeConfig::default() };
        let store = Arc::new(MemoryStore::new());
        let disk: Arc<dyn Store> = store.clone();
        let mut node = Node::open(disk, &config, &Clock::at(Time(1_000)), 1).unwrap();
        let runtime = node.runtime();
        let namespace = drive(&mut node, namespace(&runtime));
        Self { store, config, node, runtime, namespace }
    }

    /// The same with another server.
    fn begin_again(self) -> Self {
        let disk: Arc<dyn Store> = self.store.clone();
        let node = Node::open(disk, &self.config, &Clock::at(Time(2_000)), 2).unwrap();
        let runtime = node.runtime();
        Self { node, runtime, ..self }
    }

    fn backlog(&self) -> i64 {
        self.runtime.describe_queue(self.namespace, QUEUE, TaskQueueType::Workflow).backlog
    }

    /// The workflow ids of the next tasks.
    fn polled(&mut self, count: usize) -> Vec<String> {
        let poll = |_| {
            let polled = self.runtime.poll_workflow_task(poller(self.namespace));
            drive(&mut self.node, polled).unwrap().run.head.workflow_id.clone()
        };
        (0..count).map(poll).collect()
    }

    fn start(&mut self, workflow_id: &str, bytes: usize) -> Result<Started, Refusal> {
        let id = workflow_id.to_owned();
        drive(&mut self.node, self.runtime.start(self.namespace, id, large_start(bytes)))
    }

    fn signal(&mut self, workflow_id: &str) {
        let target = RunName {
            namespace: self.namespace.0,
            workflow_id: workflow_id.to_owned(),
            ..RunName::default()
        };
        let signal = Signal { attributes: Default::default(), links: Vec::new() };
        let command = Command::Signal(Box::new(signal));
        drive(&mut self.node, self.runtime.send(target, command)).unwrap();
    }

    fn node_at_rest(&mut self) {
        while self.node.take_any_turn() {}
    }
}

fn large_start(bytes: usize) -> perennial_engine::run::StartRun {
    let mut start = start("r");
    let payload = Payload { data: vec![0; bytes], ..Payload::default() };
    start.started.input = Some(Payloads { payloads: vec![payload] });
    start
}
