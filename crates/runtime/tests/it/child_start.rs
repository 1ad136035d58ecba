//! Child starts: the parent gets the answer only when the child is durable, in the same cell or another.

use std::sync::Arc;

use perennial_engine::{EntityRef, NamespaceKey, SlotRange, Time};
use perennial_proto::store::{EntityMessage, RunName};
use perennial_runtime::RuntimeConfig;
use perennial_runtime::simulation::{Clock, Node};
use perennial_store::{MemoryStore, Store, StoredEntity};
use prost::Message;

use crate::kit::{completion, drive, name_in_cell, namespace, poller, start, start_child};

/// A node with two cells, where a parent in the first has asked for its child in the second, which is about to be
/// committed.
fn asked_in_other_cell(store: &Arc<MemoryStore>) -> (Node, RunName, RunName) {
    let mut node = two_cells(store);
    let runtime = node.runtime();
    let namespace = drive(&mut node, namespace(&runtime));
    let (parent, child) = (name_in_cell(namespace, 0), name_in_cell(namespace, 1));

    let started = drive(&mut node, runtime.start(namespace, parent, start("r"))).unwrap();
    let task = drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    let completed = completion(&task, start_child(child.clone()));
    drive(&mut node, runtime.send(started.run.name(), completed)).unwrap();

    while node.uncommitted() == 0 {
        if node.unread() > 0 { node.read(0) } else { node.step(1, usize::MAX) }
    }
    let child = RunName { namespace: namespace.0, workflow_id: child, ..RunName::default() };
    (node, started.run.name(), child)
}

fn two_cells(store: &Arc<MemoryStore>) -> Node {
    let config = RuntimeConfig { cells: Some(2), ..RuntimeConfig::default() };
    let store = Arc::clone(store) as Arc<dyn Store>;
    Node::open(store, &config, &Clock::at(Time(1_000)), 1).unwrap()
}

#[test]
fn parent_hears_of_its_child_after_the_commit_that_starts_it() {
    let (mut node, ..) = asked_in_other_cell(&Arc::default());
    assert_eq!(node.arrived(0), 0, "the child isn't durable, and its parent has no answer");
    node.commit(usize::MAX);
    node.step(1, usize::MAX);
    assert_ne!(node.arrived(0), 0, "now it is");
}

#[test]
fn a_child_that_was_deleted_before_its_parent_heard_of_it_is_not_started_again() {
    let store = Arc::default();
    let (mut node, parent, child) = asked_in_other_cell(&store);
    node.commit(usize::MAX);
    let runtime = node.runtime();
    let mut deleted = std::pin::pin!(runtime.delete(child.clone()));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(deleted.as_mut().poll(&mut cx).is_pending());
    node.step(1, usize::MAX);
    node.commit(usize::MAX);
    node.step(1, usize::MAX);
    assert!(deleted.as_mut().poll(&mut cx).is_ready(), "it is gone");
    drop(node);
    // Its start, and that it has ended.
    assert_eq!(messages(&store), 2);

    let mut node = two_cells(&store);
    while node.take_any_turn() {}
    let found = load(store.as_ref(), NamespaceKey(child.namespace), &child.workflow_id);
    assert!(found.is_none(), "it stays away");
    let runtime = node.runtime();
    let parent = drive(&mut node, runtime.read(parent)).unwrap();
    assert!(parent.children.is_empty(), "its parent has heard how it ended");
    assert_eq!(messages(&store), 0);
}

#[test]
fn late_delivery_of_a_start_doesnt_start_a_deleted_child_again() {
    let store = Arc::default();
    let (mut node, parent, child) = asked_in_other_cell(&store);
    let stored = store.messages(SlotRange::ALL, i64::MIN, 10).unwrap().remove(0);
    let start = EntityMessage::decode(stored.value.as_slice()).unwrap();
    while node.take_any_turn() {}
    let runtime = node.runtime();
    drive(&mut node, runtime.delete(child.clone())).unwrap();
    while node.take_any_turn() {}
    let is_gone =
        || load(store.as_ref(), NamespaceKey(child.namespace), &child.workflow_id).is_none();
    assert!(is_gone() && messages(&store) == 0);

    node.deliver(start);
    while node.take_any_turn() {}
    assert!(is_gone(), "it stays away");
    assert!(drive(&mut node, runtime.read(parent)).unwrap().children.is_empty());
}

/// A node with one cell, where a parent has asked for its child.
fn asked_for_child(store: &Arc<MemoryStore>) -> (Node, NamespaceKey) {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let mut node =
        Node::open(store, &RuntimeConfig::default(), &Clock::at(Time(1_000)), 1).unwrap();
    let runtime = node.runtime();
    let namespace = drive(&mut node, namespace(&runtime));
    let parent = "parent".to_owned();
    let started = drive(&mut node, runtime.start(namespace, parent, start("r"))).unwrap();
    let task = drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    let completed = completion(&task, start_child("child".to_owned()));
    let asked = async move { runtime.send(started.run.name(), completed).await.map(|_| ()) };
    let mut asked = std::pin::pin!(asked);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(asked.as_mut().poll(&mut cx).is_pending());
    node.step(0, usize::MAX);
    (node, namespace)
}

fn messages(store: &MemoryStore) -> usize {
    store.messages(SlotRange::ALL, i64::MIN, 10).unwrap().len()
}

fn load(store: &MemoryStore, namespace: NamespaceKey, workflow_id: &str) -> Option<StoredEntity> {
    store.load(&[EntityRef::run(namespace, workflow_id, "")]).remove(0).unwrap()
}

fn is_there(store: &MemoryStore, namespace: NamespaceKey) -> bool {
    load(store, namespace, "child").is_some()
}

#[test]
fn a_child_in_its_parents_cell_is_in_the_commit_that_asks_for_it() {
    let store = Arc::new(MemoryStore::new());
    let (mut node, namespace) = asked_for_child(&store);
    assert_eq!(node.uncommitted(), 0, "the batch waits for what is to be known of the child");
    node.read(0);
    node.step(0, usize::MAX);
    node.commit(usize::MAX);
    assert!(is_there(&store, namespace));
    assert_eq!(messages(&store), 0, "all messages are answered");
    while node.take_any_turn() {}
    assert_eq!(messages(&store), 0);
}

#[test]
fn a_child_that_takes_long_to_look_for_is_asked_for_durably() {
    let store = Arc::new(MemoryStore::new());
    let (mut node, namespace) = asked_for_child(&store);
    node.step(0, usize::MAX);
    node.commit(usize::MAX);
    assert_eq!((is_there(&store, namespace), messages(&store)), (false, 1));
    while node.take_any_turn() {}
    assert_eq!((is_there(&store, namespace), messages(&store)), (true, 0));
}

#[test]
fn a_child_that_was_asked_for_is_started_after_a_crash() {
    let store = Arc::new(MemoryStore::new());
    let (mut node, namespace) = asked_for_child(&store);
    node.step(0, usize::MAX);
    node.commit(usize::MAX);
    drop(node);
    let again = Arc::clone(&store) as Arc<dyn Store>;
    let mut node =
        Node::open(again, &RuntimeConfig::default(), &Clock::at(Time(2_000)), 2).unwrap();
    while node.take_any_turn() {}
    assert_eq!((is_there(&store, namespace), messages(&store)), (true, 0));
}
