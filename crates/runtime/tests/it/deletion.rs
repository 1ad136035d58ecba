//! Background deletion: closed runs after their retention, and the contents of deleted namespaces.

use std::sync::Arc;

use perennial_engine::run::Rejection;
use perennial_engine::{NamespaceKey, Span, Time};
use perennial_proto::store::NamespaceRecord;
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{Refusal, Runtime, RuntimeConfig};
use perennial_store::{MemoryStore, Store};

use crate::kit::{complete_workflow, completion, drive, namespace, poller, start};

const DAY: Span = Span::seconds(24 * 60 * 60);

#[test]
fn a_closed_run_is_there_until_its_retention_is_over() {
    let clock = Clock::at(Time(1_000));
    let store = Arc::new(MemoryStore::new());
    let mut node = Node::open(store, &RuntimeConfig::default(), &clock, 1).unwrap();
    let runtime = node.runtime();
    let kept = NamespaceRecord {
        name: "kept".to_owned(),
        retention_nanos: DAY.0,
        ..NamespaceRecord::default()
    };
    let kept = drive(&mut node, runtime.register_namespace(kept)).unwrap();
    let namespace = NamespaceKey(kept.key);
    let started = runtime.start(namespace, "payroll".to_owned(), start("r"));
    let target = drive(&mut node, started).unwrap().run.name();
    let task = drive(&mut node, runtime.poll_workflow_task(poller(namespace))).unwrap();
    let done = runtime.send(target.clone(), completion(&task, complete_workflow()));
    drive(&mut node, done).unwrap();

    clock.set(Time(1_000 + DAY.0 - 1));
    while node.take_any_turn() {}
    assert!(drive(&mut node, runtime.read(target.clone())).is_ok());

    clock.set(Time(1_000 + DAY.0));
    while node.take_any_turn() {}
    let gone = drive(&mut node, runtime.read(target)).unwrap_err();
    assert!(matches!(gone, Refusal::Rejected(Rejection::RunNotFound(_))), "{gone:?}");
}

#[tokio::test]
async fn what_a_deleted_namespace_held_goes_also_after_a_crash() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::open(Arc::clone(&store), &RuntimeConfig::default()).unwrap();
    let key = namespace(&runtime).await;
    for number in 0..250 {
        runtime.start(key, format!("run-{number}"), start("r")).await.unwrap();
    }
    let delete = |record: &mut NamespaceRecord| {
        record.deleted_at = 1;
        Ok(())
    };
    let deleted = runtime.update_namespace(key, Box::new(delete)).await.unwrap();
    // It ends before the first run has gone.
    runtime.stop();

    let runtime = Runtime::open(store, &RuntimeConfig::default()).unwrap();
    let left = async || runtime.count(&deleted, "").await.unwrap().total;
    assert_eq!(left().await, 250);
    runtime.resume_purges().await.unwrap();
    while left().await > 0 {
        tokio::task::yield_now().await;
    }
    // Its key stays taken.
    assert_ne!(namespace(&runtime).await, key);
}
