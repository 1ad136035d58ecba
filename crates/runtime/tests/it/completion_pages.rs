//! Pages of completions use bounded memory of a cell, and only while a worker has the task.

use std::sync::Arc;

use perennial_engine::run::{Command, Limits, Rejection, TaskStamp, Terminate};
use perennial_engine::{NamespaceKey, Time};
use perennial_proto::store::RunName;
use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::command::v1::{self as command, RecordMarkerCommandAttributes};
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{CompletionPage, Refusal, Runtime, RuntimeConfig};
use perennial_store::MemoryStore;

use crate::kit::{drive, namespace, poller, start};

/// Bytes of a page's commands on the wire, about. A cell has room for two pages.
const PAGE: usize = 1_000_000;

#[test]
fn pages_without_room_are_lost_and_make_room_for_others() {
    let mut world = World::new();
    let (first, second) = (world.task("first"), world.task("second"));
    world.keep(&first, 0).unwrap();
    world.keep(&second, 0).unwrap();

    let full = world.keep(&second, 1).unwrap_err().to_string();
    let why = "workflow task completion buffer memory limit reached while buffering page 1";
    assert_eq!(full, why);
    let lost = world.take(&second, 1).unwrap_err();
    assert!(matches!(lost, Refusal::PagesLost(_)), "{lost:?}");

    world.keep(&first, 1).unwrap();
    assert_eq!(world.take(&first, 2).unwrap(), 2);
    world.keep(&second, 0).unwrap();
}

#[test]
fn pages_go_with_their_task() {
    let mut world = World::new();
    let (first, second) = (world.task("first"), world.task("second"));
    world.keep(&first, 0).unwrap();
    world.keep(&first, 1).unwrap();
    let terminated = world.runtime.send(first.0.clone(), Command::Terminate(Terminate::default()));
    drive(&mut world.node, terminated).unwrap();

    world.keep(&second, 0).unwrap();
    world.keep(&second, 1).unwrap();
    for refused in [world.keep(&first, 0).unwrap_err(), world.take(&first, 2).unwrap_err()] {
        let task_not_found = matches!(refused, Refusal::Rejected(Rejection::TaskNotFound(_)));
        assert!(task_not_found, "{refused:?}");
    }
}

#[test]
fn page_that_comes_again_takes_no_more_room() {
    let mut world = World::new();
    let task = world.task("first");
    for number in [1, 0, 1, 0] {
        world.keep(&task, number).unwrap();
    }
    assert_eq!(world.take(&task, 2).unwrap(), 2);
}

/// A run and the workflow task of it that a worker has.
type Task = (RunName, TaskStamp);

struct World {
    node: Node,
    runtime: Runtime,
    namespace: NamespaceKey,
}

impl World {
    fn new() -> Self {
        let limits = Limits { pages_bytes: PAGE * 5 / 2, ..Limits::default() };
        let config = RuntimeConfig { limits, ..RuntimeConfig::default() };
        let store = Arc::new(MemoryStore::new());
        let mut node = Node::open(store, &config, &Clock::at(Time(1_000)), 1).unwrap();
        let runtime = node.runtime();
        let namespace = drive(&mut node, namespace(&runtime));
        Self { node, runtime, namespace }
    }

    /// Starts a workflow and takes its task.
    fn task(&mut self, workflow_id: &str) -> Task {
        let started = self.runtime.start(self.namespace, workflow_id.to_owned(), start("r"));
        let run = drive(&mut self.node, started).unwrap().run.name();
        let polled = self.runtime.poll_workflow_task(poller(self.namespace));
        let grant = drive(&mut self.node, polled).unwrap();
        (run, TaskStamp::from(grant.run.head.workflow_task.as_ref().unwrap()))
    }

    fn keep(&mut self, (run, task): &Task, number: usize) -> Result<(), Refusal> {
        let marker_name = "m".repeat(PAGE);
        let marker = RecordMarkerCommandAttributes { marker_name, ..Default::default() };
        let page = CompletionPage {
            task: *task,
            number,
            commands: vec![command::Command {
                attributes: Some(Attributes::RecordMarkerCommandAttributes(marker)),
                ..command::Command::default()
            }],
            identity: String::new(),
        };
        drive(&mut self.node, self.runtime.keep_page(run.clone(), page))
    }

    /// How many commands there are in the first pages.
    fn take(&mut self, (run, task): &Task, count: usize) -> Result<usize, Refusal> {
        let taken = self.runtime.take_pages(run.clone(), *task, count);
        drive(&mut self.node, taken).map(|commands| commands.len())
    }
}
