//! Failed commits: no caller gets an answer about lost state, and the cell recovers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use perennial_engine::Time;
use perennial_engine::run::{Command, Rejection, Run, Signal, Terminate};
use perennial_proto::store::RunName;
use perennial_proto::temporal::enums::v1::{
    QueryRejectCondition, UpdateWorkflowExecutionLifecycleStage, WorkflowExecutionStatus,
};
use perennial_proto::temporal::history::v1::WorkflowExecutionSignaledEventAttributes;
use perennial_proto::temporal::query::v1::WorkflowQuery;
use perennial_proto::temporal::update::v1::{Meta, Request};
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{Refusal, Runtime, RuntimeConfig, Sent};
use perennial_store::{Batch, CellId, Error, Lease, MemoryStore, Store, StoreWrapper};

use crate::kit::{self, complete_workflow, completion, namespace, poller, start};

/// The fault of the next commit. Later commits succeed.
const WORKS: u8 = 0;
const FAILS: u8 = 1;
/// It is durable, and says it isn't.
const FAILS_AFTER_ALL: u8 = 2;
/// There is no room, and none for later ones either.
const FULL: u8 = 3;
/// The thread that commits dies.
const PANICS: u8 = 4;
/// Another owner has taken over.
const FENCED: u8 = 5;

#[derive(Default)]
struct FaultyStore {
    inner: MemoryStore,
    next: AtomicU8,
    /// Commits that found no room.
    refused: AtomicUsize,
}

fn no_room() -> Error {
    Error::Full("no room".to_owned())
}

impl StoreWrapper for FaultyStore {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn on_lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        if self.next.load(Ordering::SeqCst) == FULL {
            return Err(no_room());
        }
        self.inner.lease(cell, owner)
    }

    fn on_commit(&self, batches: &[Batch]) -> Result<(), Error> {
        let lost = || Err(Error::Unavailable("the disk is away".to_owned()));
        if self.next.load(Ordering::SeqCst) == FULL {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(no_room());
        }
        match self.next.swap(WORKS, Ordering::SeqCst) {
            FAILS => lost(),
            PANICS => panic!("the disk has vanished"),
            FENCED => Err(Error::Fenced("another server has the file".to_owned())),
            FAILS_AFTER_ALL => {
                self.inner.commit(batches)?;
                lost()
            }
            _ => self.inner.commit(batches),
        }
    }
}

/// A start whose commit fails as said, repeated by its client, and run to its end by a worker that polled
/// all the while.
async fn start_fails_once(how: u8) {
    let store = Arc::new(FaultyStore::default());
    let runtime = Runtime::open(store.clone(), &RuntimeConfig::default()).unwrap();
    let namespace = namespace(&runtime).await;
    let waiting = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.poll_workflow_task(poller(namespace)).await.unwrap() }
    });
    while runtime.describe_queue(namespace, kit::QUEUE, Default::default()).pollers.is_empty() {
        tokio::task::yield_now().await;
    }

    store.next.store(how, Ordering::SeqCst);
    let first = runtime.start(namespace, "greet".to_owned(), start("r")).await;
    match how {
        FAILS => assert!(matches!(first, Err(Refusal::Unavailable(_))), "{first:?}"),
        _ => assert!(first.unwrap().is_new, "the new lease says that it landed"),
    }
    let again = runtime.start(namespace, "greet".to_owned(), start("r")).await.unwrap();
    assert!(again.is_new, "the repetition of a request is that request");

    let run = again.run.name();
    let task = waiting.await.unwrap();
    assert_eq!(task.run.name(), run);
    runtime.send(run.clone(), completion(&task, complete_workflow())).await.unwrap();
    let closed = runtime.read(run).await.unwrap();
    assert_eq!(closed.head.status(), WorkflowExecutionStatus::Completed);
}

#[tokio::test]
async fn a_start_that_was_lost_happens_once_when_it_is_repeated() {
    start_fails_once(FAILS).await;
}

#[tokio::test]
async fn a_start_that_was_durable_after_all_is_answered_and_its_task_handed_out() {
    start_fails_once(FAILS_AFTER_ALL).await;
}

#[tokio::test]
async fn runtime_fails_when_its_thread_dies_or_another_owner_takes_over() {
    for (how, says) in [(PANICS, "the thread `cell-0` panicked"), (FENCED, "another server")] {
        let store = Arc::new(FaultyStore::default());
        let runtime = Runtime::open(store.clone(), &RuntimeConfig::default()).unwrap();
        let namespace = namespace(&runtime).await;
        assert_eq!(runtime.health(), Ok(()));
        store.next.store(how, Ordering::SeqCst);
        let refused = runtime.start(namespace, "greet".to_owned(), start("r")).await;
        assert!(matches!(refused, Err(Refusal::Unavailable(_))), "{refused:?}");
        let reason = runtime.failed().await;
        assert!(reason.contains(says), "{reason}");
        assert_eq!(runtime.health(), Err(reason.to_string()));
        runtime.stop();
    }
}

#[test]
fn full_store_refuses_writes_at_once_serves_reads_and_goes_on_when_there_is_room() {
    let store = Arc::new(FaultyStore::default());
    let clock = Clock::at(Time(1_000));
    let mut node = Node::open(store.clone(), &RuntimeConfig::default(), &clock, 1).unwrap();
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, namespace(&runtime));
    let started = runtime.start(namespace, "greet".to_owned(), start("r"));
    let run = kit::drive(&mut node, started).unwrap().run.name();

    store.next.store(FULL, Ordering::SeqCst);
    for request in 0..5 {
        let refused = signal_once(&mut node, &runtime, &run, &request.to_string());
        assert!(matches!(refused, Err(Refusal::Exhausted(_))), "{refused:?}");
    }
    let commits = store.refused.load(Ordering::SeqCst);
    assert_eq!(commits, 1, "later writes are refused without an attempt");
    let read = read_once(&mut node, &runtime, &run);
    assert_eq!((read.head.signal_count, read.is_open()), (0, true));
    // A worker's poll is neither answered nor lost.
    let mut poll = Box::pin(runtime.poll_workflow_task(poller(namespace)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(poll.as_mut().poll(&mut cx).is_pending());
    node.step(0, usize::MAX);
    assert!(poll.as_mut().poll(&mut cx).is_pending());

    store.next.store(WORKS, Ordering::SeqCst);
    let task = kit::drive(&mut node, poll).unwrap();
    assert_eq!(task.run.name(), run);
    kit::drive(&mut node, runtime.send(run.clone(), signal("late"))).unwrap();
    let read = kit::drive(&mut node, runtime.read(run)).unwrap();
    assert_eq!(read.buffered.len(), 1, "those that were refused haven't happened");
}

/// Sends a signal, with as many turns as that takes: a full store is tried again in every turn, for ever.
fn signal_once(
    node: &mut Node,
    runtime: &Runtime,
    run: &RunName,
    request: &str,
) -> Result<Sent, Refusal> {
    let mut sent = Box::pin(runtime.send(run.clone(), signal(request)));
    in_a_few_turns(node, &mut sent)
}

fn read_once(node: &mut Node, runtime: &Runtime, run: &RunName) -> Arc<Run> {
    let mut read = Box::pin(runtime.read(run.clone()));
    in_a_few_turns(node, &mut read).unwrap()
}

fn in_a_few_turns<F: Future + Unpin>(node: &mut Node, future: &mut F) -> F::Output {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..10 {
        if let Poll::Ready(output) = std::pin::Pin::new(&mut *future).poll(&mut cx) {
            return output;
        }
        node.take_any_turn();
    }
    panic!("it isn't answered")
}

#[test]
fn what_was_read_before_a_failed_commit_isnt_used_after_it() {
    let store = Arc::new(FaultyStore::default());
    let clock = Clock::at(Time(1_000));
    let open = || Node::open(store.clone(), &RuntimeConfig::default(), &clock, 1).unwrap();
    let mut node = open();
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, namespace(&runtime));
    let started = runtime.start(namespace, "greet".to_owned(), start("r"));
    let run = kit::drive(&mut node, started).unwrap().run;

    // The run is read twice: by its run id and, for another request, as the current run.
    let mut node = open();
    while node.take_any_turn() {}
    let runtime = node.runtime();
    let current = RunName { run_id: String::new(), ..run.name() };
    let mut first = Box::pin(runtime.send(run.name(), signal("one")));
    let mut reading = Box::pin(runtime.read(current));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut cx).is_pending());
    assert!(reading.as_mut().poll(&mut cx).is_pending());
    node.step(0, usize::MAX);
    assert_eq!(node.unread(), 2);
    node.read(0);
    node.read(0);
    // The signal is taken, and its commit lands unheard, before the second reading is looked at.
    node.step(0, 1);
    store.next.store(FAILS_AFTER_ALL, Ordering::SeqCst);
    node.commit(1);
    while node.take_any_turn() {}

    let second = kit::drive(&mut node, runtime.send(run.name(), signal("two"))).unwrap();
    assert_eq!(second.run.head.signal_count, 2, "the first one was durable");
}

#[test]
fn a_cell_that_begins_anew_takes_no_task_away_from_another() {
    let store = Arc::new(FaultyStore::default());
    let config = RuntimeConfig { cells: Some(2), ..RuntimeConfig::default() };
    let mut node = Node::open(store.clone(), &config, &Clock::at(Time(1_000)), 1).unwrap();
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, namespace(&runtime));
    let (one, other) = (kit::name_in_cell(namespace, 0), kit::name_in_cell(namespace, 1));
    let run = kit::drive(&mut node, runtime.start(namespace, one, start("r"))).unwrap().run;
    let task = kit::drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    kit::drive(&mut node, runtime.send(run.name(), kit::idle_completion(&task))).unwrap();

    // The update's task waits for a poller, and is never stored.
    let stage = UpdateWorkflowExecutionLifecycleStage::Accepted;
    let mut update = Box::pin(runtime.update(run.name(), update("u"), stage));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(update.as_mut().poll(&mut cx).is_pending());
    while node.take_any_turn() {}
    store.next.store(FAILS, Ordering::SeqCst);
    let refused = kit::drive(&mut node, runtime.start(namespace, other, start("r")));
    assert!(matches!(refused, Err(Refusal::Unavailable(_))), "{refused:?}");

    let task = kit::drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    assert_eq!(task.messages.len(), 1, "the update is there");
}

#[test]
fn whoever_asks_a_run_hears_of_its_deletion_only_when_it_is_durable() {
    let store = Arc::new(FaultyStore::default());
    let clock = Clock::at(Time(1_000));
    let mut node = Node::open(store.clone(), &RuntimeConfig::default(), &clock, 1).unwrap();
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, namespace(&runtime));
    let started = runtime.start(namespace, "greet".to_owned(), start("r"));
    let run = kit::drive(&mut node, started).unwrap().run.name();
    let task = kit::drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    kit::drive(&mut node, runtime.send(run.clone(), kit::idle_completion(&task))).unwrap();

    let mut cx = Context::from_waker(Waker::noop());
    for (how, is_gone) in [(FAILS, false), (WORKS, true)] {
        let query = WorkflowQuery::default();
        let mut query = Box::pin(runtime.query(run.clone(), query, QueryRejectCondition::None));
        assert!(query.as_mut().poll(&mut cx).is_pending());
        while node.take_any_turn() {}
        store.next.store(how, Ordering::SeqCst);
        let deleted = kit::drive(&mut node, runtime.delete(run.clone()));
        let refused = kit::drive(&mut node, query).unwrap_err();
        assert_eq!(deleted.is_ok(), is_gone, "{deleted:?}");
        let not_found = matches!(refused, Refusal::Rejected(Rejection::RunNotFound(_)));
        assert_eq!(not_found, is_gone, "{refused:?}");
    }
}

fn update(update_id: &str) -> Request {
    let meta = Meta { update_id: update_id.to_owned(), identity: String::new() };
    Request { meta: Some(meta), ..Request::default() }
}

fn signal(request_id: &str) -> Command {
    let attributes = WorkflowExecutionSignaledEventAttributes {
        signal_name: "hello".to_owned(),
        request_id: request_id.to_owned(),
        ..WorkflowExecutionSignaledEventAttributes::default()
    };
    Command::Signal(Box::new(Signal { attributes, links: Vec::new() }))
}

#[test]
fn a_start_that_was_refused_before_the_cell_began_anew_is_asked_for_again_and_answered_once() {
    let store = Arc::new(FaultyStore::default());
    let config = RuntimeConfig { cells: Some(2), ..RuntimeConfig::default() };
    let clock = Clock::at(Time(1_000));
    let mut node = Node::open(Arc::clone(&store) as Arc<dyn Store>, &config, &clock, 1).unwrap();
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, namespace(&runtime));
    let (parent, id) = (kit::name_in_cell(namespace, 0), kit::name_in_cell(namespace, 1));
    let parent = kit::drive(&mut node, runtime.start(namespace, parent, start("parent"))).unwrap();
    let parent = parent.run.name();
    let task = kit::drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    // Another run has the id that the parent wants for its child.
    let other =
        kit::drive(&mut node, runtime.start(namespace, id.clone(), start("other"))).unwrap();
    let asked = completion(&task, kit::start_child(id.clone()));
    kit::drive(&mut node, runtime.send(parent.clone(), asked)).unwrap();
    // The parent's cell has something to commit when the refusal comes.
    let mut cx = Context::from_waker(Waker::noop());
    let mut signaled = Box::pin(runtime.send(parent.clone(), signal("1")));
    assert!(signaled.as_mut().poll(&mut cx).is_pending());
    node.step(0, usize::MAX);
    assert_eq!(node.uncommitted(), 1);
    while node.arrived(0) == 0 {
        if node.unread() > 0 { node.read(0) } else { node.step(1, usize::MAX) }
    }
    // That commit fails, and the other run is over before the start comes a second time.
    let terminate = Command::Terminate(Terminate::default());
    let mut terminated = Box::pin(runtime.send(other.run.name(), terminate));
    assert!(terminated.as_mut().poll(&mut cx).is_pending());
    store.next.store(FAILS, Ordering::SeqCst);
    node.commit(usize::MAX);
    while node.take_any_turn() {}

    let child = RunName { namespace: namespace.0, workflow_id: id, ..RunName::default() };
    let child = kit::drive(&mut node, runtime.read(child)).unwrap();
    assert!(child.is_open() && child.key != other.run.key, "it was started the second time");
    let parent = kit::drive(&mut node, runtime.read(parent)).unwrap();
    assert_eq!(parent.children.len(), 1, "and its parent heard that, not the refusal");
}
