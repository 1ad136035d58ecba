//! Nodes that take cells from each other while others are at work.

use std::thread;

use perennial_engine::{Slot, SlotRange};
use perennial_store::{BatchId, CellId, ClusterStore, PostgresStore, Store};

use super::server::{database, open_transaction, postgres, until_a_lock_is_waited_for};
use crate::conformance::backends::options;
use crate::conformance::cluster::{LONG, end_lease, node, with_nodes};

/// A store whose only cell belongs to node a, whose lease has ended. Node b is there too.
fn store_of_an_ended_node(url: &str) -> PostgresStore {
    let store = PostgresStore::open(&options(url)).unwrap();
    with_nodes(&store, &["a", "b"]);
    store.take_cell(CellId::FIRST, "a").unwrap().unwrap();
    end_lease(&store, "a");
    store
}

/// Does `act` while a transaction with these statements is open, which commits when `act` waits for it.
fn during<T: Send>(name: &str, statements: &[&str], act: impl FnOnce() -> T + Send) -> T {
    let mut other = open_transaction(name, statements);
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        until_a_lock_is_waited_for(name);
        other.send("COMMIT").unwrap();
        acting.join().unwrap()
    })
}

#[test]
fn cell_is_taken_when_the_commit_of_the_owner_before_has_ended() {
    let (name, url) = database();
    let store = store_of_an_ended_node(&url);
    let epoch = store.cells().unwrap()[0].epoch;
    let commit = "UPDATE perennial.cells SET sequence = 7 WHERE first_slot = 0";
    let lease = during(&name, &[commit], || store.take_cell(CellId::FIRST, "b"));
    assert_eq!(lease.unwrap().unwrap().last_batch, BatchId { epoch, sequence: 7 });
}

#[test]
fn owner_that_takes_its_cell_again_learns_of_its_commit_that_was_under_way() {
    let (name, url) = database();
    let store = store_of_an_ended_node(&url);
    with_nodes(&store, &["a"]);
    let epoch = store.cells().unwrap()[0].epoch;
    let commit = "UPDATE perennial.cells SET sequence = 7 WHERE first_slot = 0";
    let lease = during(&name, &[commit], || store.take_cell(CellId::FIRST, "a"));
    assert_eq!(lease.unwrap().unwrap().last_batch, BatchId { epoch, sequence: 7 });
}

#[test]
fn cell_isnt_taken_from_a_node_that_renews_its_lease_meanwhile() {
    let (name, url) = database();
    let store = store_of_an_ended_node(&url);
    let renewal =
        "UPDATE perennial.nodes SET lease_ends_at = clock_timestamp() + '1 hour' WHERE id = 'a'";
    let lease = during(&name, &[renewal], || store.take_cell(CellId::FIRST, "b"));
    assert_eq!(lease.unwrap(), None);
}

#[test]
fn renewal_shows_a_cell_that_is_taken_meanwhile() {
    let (name, url) = database();
    let store = store_of_an_ended_node(&url);
    let taking = [
        "SELECT 1 FROM perennial.nodes WHERE id = 'a' FOR SHARE",
        "UPDATE perennial.cells SET owner = 'b', epoch = 99 WHERE first_slot = 0",
    ];
    let view = during(&name, &taking, || store.renew_node(&node("a"), LONG)).unwrap();
    assert_eq!(view.cells[0].owner, "b");
    assert!(!view.nodes[0].lease_left.is_zero());
}

#[test]
fn cell_that_is_replaced_while_a_node_waits_for_it_is_taken_as_it_is_then() {
    let (name, url) = database();
    let store = store_of_an_ended_node(&url);
    let split = [
        "DELETE FROM perennial.cells",
        "INSERT INTO perennial.cells VALUES (0, 99, '', 50, 0), (100, 16383, '', 50, 0)",
        "UPDATE perennial.cluster SET last_epoch = 50",
    ];
    let lease = during(&name, &split, || store.take_cell(CellId::FIRST, "b")).unwrap().unwrap();
    assert_eq!(lease.slots, SlotRange::new(Slot(0), Slot(99)).unwrap());
    assert_eq!(lease.epoch.0, 51);
}

#[test]
fn node_is_forgotten_ten_minutes_after_its_lease_unless_it_owns_a_cell() {
    let (name, url) = database();
    let store = store_of_an_ended_node(&url);
    end_lease(&store, "gone");
    end_lease(&store, "recent");
    let age = |minutes: u32| {
        let sql = format!(
            "UPDATE perennial.nodes SET lease_ends_at = clock_timestamp() - '{minutes} minutes'::INTERVAL \
             WHERE id IN ('a', 'gone')"
        );
        postgres().sql(&name, &sql).unwrap();
        let view = store.renew_node(&node("b"), LONG).unwrap();
        view.nodes.into_iter().map(|node| node.registration.id).collect::<Vec<_>>()
    };
    assert_eq!(age(9), ["a", "b", "gone", "recent"]);
    assert_eq!(age(11), ["a", "b", "recent"]);
}
