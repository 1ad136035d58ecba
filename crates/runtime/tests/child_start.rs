//! A child in another cell than its parent's: what the parent hears of it is durable.

#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod kit;

use std::sync::Arc;

use perennial_engine::Time;
use perennial_proto::temporal::command::v1::StartChildWorkflowExecutionCommandAttributes;
use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::common::v1::WorkflowType;
use perennial_runtime::RuntimeConfig;
use perennial_runtime::simulation::{Clock, Node};
use perennial_store::MemoryStore;

use self::kit::{completion, drive, name_in_cell, namespace, poller, start};

#[test]
fn parent_hears_of_its_child_after_the_commit_that_starts_it() {
    let config = RuntimeConfig { cells: 2, ..RuntimeConfig::default() };
    let store = Arc::new(MemoryStore::new());
    let mut node = Node::open(store, &config, &Clock::at(Time(1_000)), 1).unwrap();
    let runtime = node.runtime();
    let namespace = drive(&mut node, namespace(&runtime));
    let (parent, child) = (name_in_cell(namespace, 0), name_in_cell(namespace, 1));

    let started = drive(&mut node, runtime.start(namespace, parent, start("r"))).unwrap();
    let task = drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    let wanted = Attributes::StartChildWorkflowExecutionCommandAttributes(
        StartChildWorkflowExecutionCommandAttributes {
            workflow_id: child,
            workflow_type: Some(WorkflowType { name: "Child".to_owned() }),
            ..Default::default()
        },
    );
    drive(&mut node, runtime.send(started.run.name(), completion(&task, wanted))).unwrap();

    while node.uncommitted() == 0 {
        if node.unread() > 0 { node.read(0) } else { node.step(1, usize::MAX) }
    }
    assert_eq!(node.arrived(0), 0, "the child isn't durable, and its parent isn't told");
    node.commit(usize::MAX);
    node.step(1, usize::MAX);
    assert_ne!(node.arrived(0), 0, "now it is");
}
