//! The clock of a store in memory, which its owner sets.

use std::time::Duration;

use perennial_engine::Time;
use perennial_store::{CellId, ClusterStore, MemoryStore};

use crate::conformance::cluster::node;

const LEASE: Duration = Duration::from_secs(3);

/// So many seconds after the beginning.
fn at(seconds: i64) -> Time {
    Time(seconds * 1_000_000_000)
}

#[test]
fn lease_ends_when_the_clock_is_set_to_its_end() {
    let store = MemoryStore::new();
    store.renew_node(&node("a"), LEASE).unwrap();
    assert!(store.take_cell(CellId::FIRST, "a").unwrap().is_some());
    for (seconds, left, is_taken) in [(2, 1, false), (3, 0, true)] {
        store.set_time(at(seconds));
        let view = store.renew_node(&node("b"), LEASE).unwrap();
        assert_eq!((view.now, view.nodes[0].lease_left), (at(seconds), Duration::from_secs(left)));
        assert_eq!(store.take_cell(CellId::FIRST, "b").unwrap().is_some(), is_taken);
    }
    let copy = MemoryStore::with_disk(store.disk());
    assert_eq!(copy.cluster_view().unwrap(), store.cluster_view().unwrap());
}

#[test]
fn node_is_forgotten_ten_minutes_after_its_lease_unless_it_owns_a_cell() {
    let store = MemoryStore::new();
    let renew = |seconds: i64| {
        store.set_time(at(seconds));
        let view = store.renew_node(&node("present"), LEASE).unwrap();
        view.nodes.into_iter().map(|node| node.registration.id).collect::<Vec<_>>()
    };
    store.renew_node(&node("gone"), LEASE).unwrap();
    let lease = store.take_cell(CellId::FIRST, "gone").unwrap().unwrap();
    assert_eq!(renew(604), ["gone", "present"]);
    assert!(store.release_cell(CellId::FIRST, lease.epoch).unwrap());
    assert_eq!(renew(603), ["gone", "present"]);
    assert_eq!(renew(604), ["present"]);
}
