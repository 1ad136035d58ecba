//! Deletion of runs: which rows are deleted, and which stay.

use perennial_engine::{EntityId, EntityKey, EntityRef, RunPart};
use perennial_store::{Error, Fragment, HistoryRange, Store};

use crate::writing::{
    NAMESPACE, Owner, created_run, current, delete, events, fragment, head, load, load_by_id,
    new_run, reset_run, try_load, wake,
};

fn branch(store: &dyn Store, key: i64) -> Vec<Fragment> {
    let range = HistoryRange { branch: EntityKey(key), first_event_id: 1, last_event_id: i64::MAX };
    store.history(range, usize::MAX, false).unwrap()
}

pub(crate) fn deleted_run_is_gone_with_all_its_rows(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut write = wake(current(new_run(1, "order")), 100);
    write.parts = vec![(RunPart::Timer(5).row_id(), Some(vec![5]))];
    owner.commit(vec![write, current(new_run(2, "invoice"))]);
    owner.commit(events(1, vec![fragment(3, 9)]));
    owner.commit(delete(1));
    assert!(load(store, "order").is_none());
    assert!(load_by_id(store, "order", 1).is_none());
    assert!(branch(store, 1).is_empty());
    assert!(super::wakes::all(store).is_empty());
    assert!(load(store, "invoice").is_some());
    owner.conflict(head(1, "changed"));
    owner.commit(current(new_run(1, "order")));
    assert!(load(store, "order").unwrap().parts.is_empty(), "no part of the deleted one is left");
}

pub(crate) fn damaged_run_is_gone_when_it_is_deleted(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(reset_run(2, "order", &[1])));
    // A read of everything applies the redo file, so that the next commit is in another place than this one.
    super::wakes::all(store);
    let load = || try_load(store, EntityRef::current(EntityId::workflow(NAMESPACE, "order")));
    assert!(matches!(load(), Err(Error::Corrupt(_))), "there is no run 1");
    owner.commit(delete(2));
    assert!(load().unwrap().is_none());
}

pub(crate) fn unknown_run_is_deleted_without_complaint(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    owner.commit(vec![delete(2), delete(1), delete(1)]);
    assert!(load(store, "order").is_none());
}

pub(crate) fn run_is_not_deleted_and_written_at_once(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    let mut write = head(1, "changed");
    write.deleted = true;
    owner.conflict(write);
    assert_eq!(load(store, "order").unwrap().head, b"new");
}

pub(crate) fn deleting_an_earlier_run_leaves_the_current_one(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![current(new_run(1, "order")), current(new_run(2, "order"))]);
    owner.commit(delete(1));
    assert_eq!(load(store, "order").unwrap().key.0, 2);
    owner.commit(vec![new_run(3, "order"), delete(2)]);
    assert!(load(store, "order").is_none(), "nobody else became current");
    assert!(load_by_id(store, "order", 3).is_some());
}

pub(crate) fn names_of_a_deleted_run_are_free_again(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    let mut next = current(new_run(2, "order"));
    created_run(&mut next).run_id = crate::writing::run_id(1);
    owner.commit(vec![delete(1), next]);
    assert_eq!(load_by_id(store, "order", 1).unwrap().key.0, 2);
}

pub(crate) fn history_stays_while_a_run_goes_on_from_it(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    owner.commit(current(reset_run(2, "order", &[1])));
    owner.commit(current(reset_run(3, "order", &[1])));
    owner.commit(delete(1));
    assert!(load_by_id(store, "order", 1).is_none());
    assert_eq!(branch(store, 1), [fragment(1, 2)]);
    owner.commit(delete(2));
    assert_eq!(branch(store, 1), [fragment(1, 2)]);
    assert_eq!(load(store, "order").unwrap().first_fragment, Some(fragment(1, 2)));
}

pub(crate) fn history_goes_with_the_last_run_that_needs_it(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![new_run(1, "order"), reset_run(2, "order", &[1])]);
    owner.commit(vec![reset_run(3, "order", &[1, 2]), new_run(4, "order")]);
    owner.commit(vec![delete(1), delete(2)]);
    assert_eq!((branch(store, 1).len(), branch(store, 2).len()), (1, 1));
    owner.commit(delete(3));
    assert_eq!([1, 2, 3].map(|key| branch(store, key).len()), [0, 0, 0]);
    assert_eq!(branch(store, 4).len(), 1);
}

pub(crate) fn own_history_of_a_reset_run_goes_with_it(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![new_run(1, "order"), reset_run(2, "order", &[1])]);
    owner.commit(delete(2));
    assert!(branch(store, 2).is_empty());
    assert_eq!(branch(store, 1), [fragment(1, 2)], "its run is still there");
    owner.commit(delete(1));
    assert!(branch(store, 1).is_empty());
}
