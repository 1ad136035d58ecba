//! Nodes that share a store, and the conditional ownership of its cells.

use std::thread;
use std::time::Duration;

use perennial_engine::{SlotRange, Time};
use perennial_store::{
    BatchId, CellId, ClusterStore, Epoch, Error, Lease, NodeRegistration, Store,
};

use crate::writing::{Owner, Rows, divide_in_two};

pub(crate) const LONG: Duration = Duration::from_secs(3_600);

pub(crate) fn node(id: &str) -> NodeRegistration {
    NodeRegistration {
        id: id.to_owned(),
        address: format!("{id}.example:7235"),
        protocol: 3,
        oldest_protocol: 2,
        version: "1.2.3".to_owned(),
        is_leaving: false,
        started_at: Time(1_234_567_891),
    }
}

pub(crate) fn cluster(store: &dyn Store) -> &dyn ClusterStore {
    store.cluster().unwrap()
}

/// Registers nodes with leases that outlast the test.
pub(crate) fn with_nodes<'a>(store: &'a dyn Store, ids: &[&str]) -> &'a dyn ClusterStore {
    for id in ids {
        cluster(store).renew_node(&node(id), LONG).unwrap();
    }
    cluster(store)
}

/// Ends a node's lease now.
pub(crate) fn end_lease(store: &dyn Store, id: &str) {
    cluster(store).renew_node(&node(id), Duration::ZERO).unwrap();
}

fn take(store: &dyn Store, cell: CellId, id: &str) -> Lease {
    cluster(store).take_cell(cell, id).unwrap().unwrap()
}

fn taken<'a>(store: &'a dyn Store, cell: CellId, id: &str) -> Owner<'a> {
    Owner { store, cell, epoch: take(store, cell, id).epoch, sequence: 0 }
}

fn is_fenced(owner: &mut Owner<'_>) -> bool {
    matches!(owner.try_commit(Rows::default()), Err(Error::Fenced(_)))
}

pub(crate) fn view_shows_nodes_by_id_with_their_leases_and_all_cells(store: &dyn Store) {
    divide_in_two(store);
    cluster(store).renew_node(&node("b"), LONG).unwrap();
    let view = cluster(store).renew_node(&node("a"), Duration::ZERO).unwrap();
    let registered: Vec<_> = view.nodes.iter().map(|node| node.registration.clone()).collect();
    assert_eq!(registered, [node("a"), node("b")]);
    assert_eq!(view.nodes[0].lease_left, Duration::ZERO);
    assert!(view.nodes[1].lease_left > LONG / 2 && view.nodes[1].lease_left <= LONG);
    assert_eq!(view.cells, store.cells().unwrap());
    let read = cluster(store).cluster_view().unwrap();
    assert_eq!((read.nodes.len(), read.cells), (2, view.cells));
    assert!(read.now >= view.now);
}

pub(crate) fn renewal_replaces_what_a_node_registered_before(store: &dyn Store) {
    with_nodes(store, &["a"]);
    let leaving = NodeRegistration { is_leaving: true, protocol: u32::MAX, ..node("a") };
    let view = cluster(store).renew_node(&leaving, LONG).unwrap();
    assert_eq!(view.nodes.len(), 1);
    assert_eq!(view.nodes[0].registration, leaving);
}

pub(crate) fn node_without_a_storable_id_is_refused(store: &dyn Store) {
    for id in ["", "a\0"] {
        let refused = cluster(store).renew_node(&node(id), LONG);
        assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    }
    assert_eq!(cluster(store).cluster_view().unwrap().nodes, []);
}

pub(crate) fn owned_cell_is_not_taken_while_its_owners_lease_runs(store: &dyn Store) {
    with_nodes(store, &["a", "b"]);
    let mut owner = taken(store, CellId::FIRST, "a");
    assert_eq!(cluster(store).take_cell(CellId::FIRST, "b").unwrap(), None);
    owner.commit(Rows::default());
    assert_eq!(store.cells().unwrap()[0].owner, "a");
}

pub(crate) fn cell_of_a_node_whose_lease_has_ended_is_taken(store: &dyn Store) {
    with_nodes(store, &["a", "b"]);
    let mut old = taken(store, CellId::FIRST, "a");
    old.commit(Rows::default());
    end_lease(store, "a");
    let lease = take(store, CellId::FIRST, "b");
    assert_eq!(lease.last_batch, BatchId { epoch: old.epoch, sequence: 1 });
    assert_eq!(lease.slots, SlotRange::ALL);
    assert!(lease.epoch > old.epoch);
    // The renewal comes too late, and the view says so.
    let view = cluster(store).renew_node(&node("a"), LONG).unwrap();
    assert_eq!(view.cells[0].owner, "b");
    assert_eq!(cluster(store).take_cell(CellId::FIRST, "a").unwrap(), None);
}

pub(crate) fn cell_of_an_owner_that_isnt_registered_is_taken(store: &dyn Store) {
    let mut old = Owner::first(store);
    with_nodes(store, &["b"]);
    take(store, CellId::FIRST, "b");
    assert!(is_fenced(&mut old));
}

pub(crate) fn node_without_a_running_lease_takes_nothing(store: &dyn Store) {
    let unchanged = store.cells().unwrap();
    end_lease(store, "a");
    for id in ["a", "unknown", ""] {
        assert_eq!(cluster(store).take_cell(CellId::FIRST, id).unwrap(), None, "{id}");
    }
    assert_eq!(store.cells().unwrap(), unchanged);
}

pub(crate) fn owner_takes_its_own_cell_again_under_a_new_epoch(store: &dyn Store) {
    with_nodes(store, &["a"]);
    let mut old = taken(store, CellId::FIRST, "a");
    old.commit(Rows::default());
    old.commit(Rows::default());
    let lease = take(store, CellId::FIRST, "a");
    assert_eq!(lease.last_batch, BatchId { epoch: old.epoch, sequence: 2 });
    assert!(lease.epoch > old.epoch && is_fenced(&mut old));
}

pub(crate) fn cell_that_isnt_there_is_not_taken(store: &dyn Store) {
    with_nodes(store, &["a"]);
    for cell in [1, 8_192, u16::MAX] {
        let cell = CellId(perennial_engine::Slot(cell));
        let refused = cluster(store).take_cell(cell, "a");
        assert!(matches!(refused, Err(Error::Fenced(_))), "{refused:?}");
        assert!(!cluster(store).release_cell(cell, Epoch(0)).unwrap());
    }
}

pub(crate) fn released_cell_is_free_and_keeps_its_last_batch(store: &dyn Store) {
    with_nodes(store, &["a", "b"]);
    let mut old = taken(store, CellId::FIRST, "a");
    old.commit(Rows::default());
    assert!(cluster(store).release_cell(CellId::FIRST, old.epoch).unwrap());
    let cell = store.cells().unwrap().remove(0);
    assert_eq!((cell.owner.as_str(), cell.epoch, cell.sequence), ("", old.epoch, 1));
    let lease = take(store, CellId::FIRST, "b");
    assert_eq!(lease.last_batch, BatchId { epoch: old.epoch, sequence: 1 });
    assert!(is_fenced(&mut old));
}

pub(crate) fn cell_is_released_only_under_its_epoch(store: &dyn Store) {
    with_nodes(store, &["a"]);
    let old = take(store, CellId::FIRST, "a");
    take(store, CellId::FIRST, "a");
    assert!(!cluster(store).release_cell(CellId::FIRST, old.epoch).unwrap());
    assert_eq!(store.cells().unwrap()[0].owner, "a");
}

pub(crate) fn batch_of_a_replaced_owner_is_fenced(store: &dyn Store) {
    with_nodes(store, &["a", "b"]);
    let mut old = taken(store, CellId::FIRST, "a");
    end_lease(store, "a");
    // A lease that has ended takes nothing away by itself.
    old.commit(Rows::default());
    let mut new = taken(store, CellId::FIRST, "b");
    assert!(is_fenced(&mut old));
    new.commit(Rows::default());
}

pub(crate) fn removed_node_leaves_its_cells_free(store: &dyn Store) {
    let [first, second] = divide_in_two(store);
    with_nodes(store, &["a", "b"]);
    let mut old = taken(store, first, "a");
    old.commit(Rows::default());
    take(store, second, "b");
    cluster(store).remove_node("a").unwrap();
    cluster(store).remove_node("unknown").unwrap();
    let view = cluster(store).cluster_view().unwrap();
    assert_eq!(view.nodes.len(), 1);
    let owners: Vec<_> = view.cells.iter().map(|cell| cell.owner.as_str()).collect();
    assert_eq!(owners, ["", "b"]);
    let last_batch = take(store, first, "b").last_batch;
    assert_eq!(last_batch, BatchId { epoch: old.epoch, sequence: 1 });
}

pub(crate) fn two_nodes_that_take_a_cell_at_once_get_it_once(store: &dyn Store) {
    let ids = ["a", "b", "c", "d"];
    let cluster = with_nodes(store, &ids);
    for _ in 0..10 {
        let taken = thread::scope(|scope| {
            let nodes = ids.map(|id| scope.spawn(move || cluster.take_cell(CellId::FIRST, id)));
            nodes.map(|node| node.join().unwrap().unwrap())
        });
        let leases: Vec<_> = taken.into_iter().flatten().collect();
        assert_eq!(leases.len(), 1);
        assert!(cluster.release_cell(CellId::FIRST, leases[0].epoch).unwrap());
    }
}
