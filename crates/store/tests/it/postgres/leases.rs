//! Leases while other nodes are at work.

use std::collections::BTreeSet;
use std::thread;

use perennial_engine::SlotRange;
use perennial_store::{BatchId, CellId, Error, PostgresStore, Store};

use super::server::{database, open_transaction, until_a_lock_is_waited_for};
use crate::conformance::backends::options;
use crate::writing::{Owner, Rows};

#[test]
fn lease_waits_for_the_commit_of_the_owner_before() {
    let (name, url) = database();
    let store = PostgresStore::open(&options(&url)).unwrap();
    let epoch = store.lease(CellId::FIRST, "node a").unwrap().epoch;
    // Node a has sent its commit, and the database hasn't finished it.
    let commit = "UPDATE perennial.cells SET sequence = 7 WHERE first_slot = 0";
    let mut node_a = open_transaction(&name, &[commit]);

    let lease = thread::scope(|scope| {
        let lease = scope.spawn(|| store.lease(CellId::FIRST, "node b"));
        until_a_lock_is_waited_for(&name);
        node_a.send("COMMIT").unwrap();
        lease.join().unwrap().unwrap()
    });
    assert_eq!(lease.last_batch, BatchId { epoch, sequence: 7 });
}

#[test]
fn leases_taken_at_once_never_have_the_same_epoch() {
    const NODES: usize = 4;
    const LEASES: usize = 20;
    let (_, url) = database();
    PostgresStore::open(&options(&url)).unwrap().divide(&SlotRange::divided(2)).unwrap();
    let epochs: Vec<i64> = thread::scope(|scope| {
        let nodes: Vec<_> = (0..NODES)
            .map(|node| {
                let url = &url;
                scope.spawn(move || {
                    let store = PostgresStore::open(&options(url)).unwrap();
                    let cells = SlotRange::divided(2).into_iter().cycle().skip(node).take(LEASES);
                    let lease = |slots: SlotRange| store.lease(CellId(slots.first()), "node");
                    cells.map(|slots| lease(slots).unwrap().epoch.0).collect::<Vec<_>>()
                })
            })
            .collect();
        nodes.into_iter().flat_map(|node| node.join().unwrap()).collect()
    });
    let distinct: BTreeSet<_> = epochs.iter().collect();
    assert_eq!(distinct.len(), NODES * LEASES);
}

#[test]
fn commit_of_an_owner_that_was_replaced_by_another_node_is_fenced() {
    let (_, url) = database();
    let [first, second] = [0, 1].map(|_| PostgresStore::open(&options(&url)).unwrap());
    let mut old = Owner::first(&first);
    old.commit(Rows::default());
    let mut new = Owner::first(&second);
    let refused = old.try_commit(Rows::default());
    assert!(matches!(refused, Err(Error::Fenced(_))), "{refused:?}");
    new.commit(Rows::default());
}
