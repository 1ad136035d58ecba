//! Leases: which owner may write.

use perennial_store::{BatchId, CellId, Epoch, Error, Store};

use crate::writing::{Owner, Rows, current, divide_in_two, load, new_run};

pub(crate) fn epoch_of_a_new_lease_is_above_all_others(store: &dyn Store) {
    let [first, second] = divide_in_two(store);
    let mut last = Epoch(0);
    for cell in [first, second, first, first, second] {
        let epoch = store.lease(cell, "test").unwrap().epoch;
        assert!(epoch > last, "{epoch:?} after {last:?}");
        last = epoch;
    }
}

pub(crate) fn batch_of_an_earlier_epoch_is_fenced(store: &dyn Store) {
    let mut old = Owner::first(store);
    old.commit(Rows::default());
    let mut new = Owner::first(store);
    let refused = old.try_commit(current(new_run(1, "order")));
    assert!(matches!(refused, Err(Error::Fenced(_))), "{refused:?}");
    assert!(load(store, "order").is_none());
    new.commit(current(new_run(1, "order")));
    assert!(load(store, "order").is_some());
}

pub(crate) fn batch_of_an_epoch_never_given_is_fenced(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.epoch = Epoch(owner.epoch.0 + 1);
    assert!(matches!(owner.try_commit(Rows::default()), Err(Error::Fenced(_))));
}

pub(crate) fn cell_that_was_never_leased_is_fenced(store: &dyn Store) {
    let [_, second] = divide_in_two(store);
    let mut owner = Owner::first(store);
    owner.cell = second;
    assert!(matches!(owner.try_commit(Rows::default()), Err(Error::Fenced(_))));
    assert_eq!(last_sequence(store, second), 0);
}

pub(crate) fn sequence_begins_anew_with_each_lease(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(Rows::default());
    owner.commit(Rows::default());
    let mut owner = Owner::first(store);
    owner.commit(Rows::default());
    owner.sequence = 2;
    owner.conflict(Rows::default());
}

pub(crate) fn lease_says_what_the_owner_before_wrote_last(store: &dyn Store) {
    let first = store.lease(CellId::FIRST, "test").unwrap();
    assert_eq!(first.last_batch.sequence, 0);
    let second = store.lease(CellId::FIRST, "test").unwrap();
    let nothing = BatchId { epoch: first.epoch, sequence: 0 };
    assert_eq!(second.last_batch, nothing);
    let mut owner = Owner::first(store);
    owner.commit(Rows::default());
    owner.commit(current(new_run(1, "order")));
    let refused = owner.try_commit(current(new_run(1, "order")));
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    let two = BatchId { epoch: owner.epoch, sequence: 2 };
    assert_eq!(last_batch(store, CellId::FIRST), two);
}

/// The last batch of a cell, whose owner is replaced.
pub(crate) fn last_batch(store: &dyn Store, cell: CellId) -> BatchId {
    store.lease(cell, "test").unwrap().last_batch
}

/// Its sequence alone.
pub(crate) fn last_sequence(store: &dyn Store, cell: CellId) -> u64 {
    last_batch(store, cell).sequence
}

pub(crate) fn sequence_that_doesnt_follow_is_refused(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(Rows::default());
    for last in [0, 2, 41, i64::MAX as u64, u64::MAX - 1] {
        owner.sequence = last;
        owner.conflict(current(new_run(1, "order")));
    }
    let mut batch = owner.batch(Rows::default());
    batch.sequence = 0;
    assert!(matches!(store.commit(&[batch]), Err(Error::Conflict(_))));
    assert!(load(store, "order").is_none());
    assert_eq!(last_sequence(store, CellId::FIRST), 1);
}

pub(crate) fn cells_count_for_themselves(store: &dyn Store) {
    let cells = divide_in_two(store);
    let [mut first, mut second] = cells.map(|cell| Owner::of(store, cell));
    first.commit(Rows::default());
    first.commit(Rows::default());
    second.commit(Rows::default());
    assert_eq!(last_sequence(store, cells[1]), 1);
    first.commit(Rows::default());
    assert_eq!(last_sequence(store, CellId::FIRST), 3);
}
