//! Facts about polls that are lent.

use std::time::Duration;

use perennial_engine::NamespaceKey;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::waiting_poll::Grant;
use super::{NodeWeights, QueueKind, QueueName, Queues, WaitingPoll};
use crate::api::Poller;
use crate::clock::Monotonic;

const NOW: Duration = Duration::from_secs(10);

/// A node with a third of the cells; the others are at `b` and `c`.
fn queues() -> Queues {
    let queues = Queues::new(1_000_000);
    let others = vec![("b".to_owned(), 5), ("c".to_owned(), 5)];
    queues.lending().set_nodes(NodeWeights { home: 5, others });
    queues
}

fn name() -> QueueName {
    QueueName { namespace: NamespaceKey(1), name: "orders".to_owned(), kind: QueueKind::Activity }
}

fn poll(queues: &Queues, may_be_lent: bool) -> oneshot::Receiver<Grant> {
    let poller = Poller {
        namespace: NamespaceKey(1),
        queue: "orders".to_owned(),
        normal_queue: None,
        identity: "worker".to_owned(),
        worker_version: None,
        deployment: None,
        worker_instance_key: String::new(),
        max_tasks_per_second: None,
    };
    let (poller, granted) = WaitingPoll::new(poller, QueueKind::Activity, None, may_be_lent);
    assert!(queues.poll(poller, Monotonic::at(NOW)).is_none());
    granted
}

/// Where a poll is: at an address, `home`, or `ended`.
fn place(granted: &mut oneshot::Receiver<Grant>) -> String {
    match granted.try_recv() {
        Ok(Grant::Lent(lent)) => {
            let address = lent.address.clone();
            // It stays lent.
            std::mem::forget(lent);
            address
        }
        Ok(_) => "a task".to_owned(),
        Err(TryRecvError::Empty) => "home".to_owned(),
        Err(TryRecvError::Closed) => "ended".to_owned(),
    }
}

#[test]
fn idle_polls_are_spread_and_the_first_stays_at_home() {
    let queues = queues();
    let mut polls = Vec::new();
    let mut places = Vec::new();
    for _ in 0..9 {
        let mut granted = poll(&queues, true);
        places.push(place(&mut granted));
        polls.push(granted);
    }
    assert_eq!(places[0], "home");
    let count = |wanted: &str| places.iter().filter(|place| *place == wanted).count();
    assert_eq!((count("home"), count("b"), count("c")), (3, 3, 3), "{places:?}");
}

#[test]
fn node_without_a_cluster_lends_nothing() {
    let queues = Queues::new(1_000_000);
    let mut polls: Vec<_> = (0..5).map(|_| poll(&queues, true)).collect();
    assert!(polls.iter_mut().all(|granted| place(granted) == "home"));
}

#[test]
fn poll_is_lent_to_the_node_that_asks() {
    let queues = queues();
    let mut granted = poll(&queues, true);
    assert_eq!(queues.lend(&name(), "c", 1, Monotonic::at(NOW)), 1);
    assert_eq!(place(&mut granted), "c");
}

#[test]
fn poll_that_comes_later_is_lent_to_the_node_that_asked() {
    let queues = queues();
    assert_eq!(queues.lend(&name(), "c", 1, Monotonic::at(NOW)), 0);
    let mut granted = poll(&queues, true);
    assert_eq!(place(&mut granted), "c");
    // It asked for one only.
    let mut next = poll(&queues, true);
    assert_eq!(place(&mut next), "home");
}

#[test]
fn guest_goes_home_when_it_is_needed_elsewhere() {
    let queues = queues();
    let mut guest = poll(&queues, false);
    assert_eq!(place(&mut guest), "home");
    assert_eq!(queues.lend(&name(), "b", 2, Monotonic::at(NOW)), 1);
    assert_eq!(place(&mut guest), "ended");
}

#[test]
fn queue_of_another_node_counts_as_polled() {
    use perennial_proto::node::{PolledQueue, PolledQueues, Queue};
    let queues = queues();
    let now = Monotonic::at(NOW);
    let queue = Queue { namespace: 1, name: "orders".to_owned(), is_activity: true };
    let polled = PolledQueue { queue: Some(queue), idle: 1 };
    assert!(!queues.is_polled(&name(), now));
    let announced = PolledQueues { node: "b".to_owned(), sequence: 1, queues: vec![polled] };
    queues.elsewhere().hear(announced, now);
    assert!(queues.is_polled(&name(), now));
    queues.elsewhere().forget(NamespaceKey(1), "orders");
    assert!(!queues.is_polled(&name(), now));
}
