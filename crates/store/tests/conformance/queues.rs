//! Waiting tasks and undelivered messages.

use perennial_engine::Slot;
use perennial_store::{MessageWrite, Store, TaskRow, TaskWrite};

use crate::leases::last_sequence;
use crate::writing::Owner;

fn task(key: i64, value: &str) -> TaskWrite {
    TaskWrite::Put(TaskRow { key, slot: Slot(7), value: value.into() })
}

fn message(key: i64, value: &str) -> MessageWrite {
    MessageWrite::Put { key, slot: Slot(Slot::COUNT - 1), value: value.into() }
}

pub(crate) fn tasks_are_paged_in_the_order_of_their_keys(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit([3, 1, i64::MAX, 2, -4].map(|key| task(key, "task")).to_vec());
    let keys = |after, limit| -> Vec<i64> {
        store.tasks(after, limit).unwrap().iter().map(|task| task.key).collect()
    };
    assert_eq!(keys(i64::MIN, 10), [-4, 1, 2, 3, i64::MAX]);
    assert_eq!(keys(0, 2), [1, 2]);
    assert_eq!(keys(2, 2), [3, i64::MAX]);
    assert!(keys(i64::MAX, 2).is_empty());
    assert!(keys(0, 0).is_empty());
}

pub(crate) fn tasks_are_replaced_and_removed(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(vec![task(1, "first"), task(2, "second")]);
    owner.commit(vec![task(1, "changed"), TaskWrite::Delete(2)]);
    let expected = TaskRow { key: 1, slot: Slot(7), value: b"changed".to_vec() };
    assert_eq!(store.tasks(0, 10).unwrap(), [expected]);
}

pub(crate) fn messages_are_paged_in_the_order_of_their_keys(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit([3, 1, 2].map(|key| message(key, "message")).to_vec());
    let keys = |after, limit| -> Vec<i64> {
        store.messages(after, limit).unwrap().iter().map(|message| message.key).collect()
    };
    assert_eq!(keys(0, 10), [1, 2, 3]);
    assert_eq!(keys(0, 2), [1, 2]);
    assert_eq!(keys(2, 2), [3]);
    assert!(keys(3, 2).is_empty());
}

pub(crate) fn messages_are_replaced_and_removed(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(vec![message(1, "first"), message(2, "second")]);
    owner.commit(vec![message(1, "changed"), MessageWrite::Delete(2)]);
    let messages = store.messages(0, 10).unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!((messages[0].key, messages[0].slot), (1, Slot(Slot::COUNT - 1)));
    assert_eq!(messages[0].value, b"changed");
}

pub(crate) fn unknown_tasks_and_messages_are_removed_without_complaint(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(vec![TaskWrite::Delete(1)]);
    owner.commit(vec![MessageWrite::Delete(1)]);
    assert_eq!(last_sequence(store, 0), 2);
}
