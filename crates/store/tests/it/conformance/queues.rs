//! Waiting tasks and undelivered messages.

use perennial_engine::{Slot, SlotRange};
use perennial_store::{CellId, MessageWrite, Store, TaskRow, TaskWrite};

use super::leases::last_sequence;
use crate::writing::Owner;

fn task(key: i64, value: &str) -> TaskWrite {
    TaskWrite::Put(TaskRow { key, slot: Slot(7), value: value.into() })
}

fn message(key: i64, value: &str) -> MessageWrite {
    MessageWrite::Put { key, slot: Slot(Slot::COUNT - 1), value: value.into() }
}

pub(crate) fn tasks_are_paged_in_the_order_of_their_keys(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit([3, 1, i64::MAX, 2, -4].map(|key| task(key, "task")).to_vec());
    let keys = |after, limit| -> Vec<i64> {
        store.tasks(SlotRange::ALL, after, limit).unwrap().iter().map(|task| task.key).collect()
    };
    assert_eq!(keys(i64::MIN, 10), [-4, 1, 2, 3, i64::MAX]);
    assert_eq!(keys(0, 2), [1, 2]);
    assert_eq!(keys(2, 2), [3, i64::MAX]);
    assert!(keys(i64::MAX, 2).is_empty());
    assert!(keys(0, 0).is_empty());
}

pub(crate) fn tasks_are_replaced_and_removed(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![task(1, "first"), task(2, "second")]);
    owner.commit(vec![task(1, "changed"), TaskWrite::Delete(2)]);
    let expected = TaskRow { key: 1, slot: Slot(7), value: b"changed".to_vec() };
    assert_eq!(store.tasks(SlotRange::ALL, 0, 10).unwrap(), [expected]);
}

pub(crate) fn messages_are_paged_in_the_order_of_their_keys(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit([3, 1, 2].map(|key| message(key, "message")).to_vec());
    let keys = |after, limit| -> Vec<i64> {
        store
            .messages(SlotRange::ALL, after, limit)
            .unwrap()
            .iter()
            .map(|message| message.key)
            .collect()
    };
    assert_eq!(keys(0, 10), [1, 2, 3]);
    assert_eq!(keys(0, 2), [1, 2]);
    assert_eq!(keys(2, 2), [3]);
    assert!(keys(3, 2).is_empty());
}

pub(crate) fn messages_are_replaced_and_removed(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![message(1, "first"), message(2, "second")]);
    owner.commit(vec![message(1, "changed"), MessageWrite::Delete(2)]);
    let messages = store.messages(SlotRange::ALL, 0, 10).unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!((messages[0].key, messages[0].slot), (1, Slot(Slot::COUNT - 1)));
    assert_eq!(messages[0].value, b"changed");
}

pub(crate) fn unknown_tasks_and_messages_are_removed_without_complaint(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![TaskWrite::Delete(1)]);
    owner.commit(vec![MessageWrite::Delete(1)]);
    assert_eq!(last_sequence(store, CellId::FIRST), 2);
}

/// Three ranges of slots.
fn thirds() -> [SlotRange; 3] {
    [(0, 7_999), (8_000, 15_999), (16_000, Slot::COUNT - 1)]
        .map(|(first, last)| SlotRange::new(Slot(first), Slot(last)).unwrap())
}

/// The first and the last slot of each third, in turns.
fn edges() -> impl Iterator<Item = Slot> {
    thirds().into_iter().flat_map(|slots| [slots.first(), slots.last()]).cycle()
}

/// The keys that belong to a third, of keys that were given to [`edges`] in order.
fn keys_of_third(third: usize) -> Vec<i64> {
    (1..=30).filter(|key| (key - 1) % 6 / 2 == third as i64).collect()
}

/// Reads page by page until one is empty.
fn paged(limit: usize, page_after: impl Fn(i64) -> Vec<i64>) -> Vec<i64> {
    let (mut keys, mut after) = (Vec::new(), i64::MIN);
    loop {
        let page = page_after(after);
        assert!(page.len() <= limit);
        let Some(last) = page.last() else { return keys };
        after = *last;
        keys.extend(page);
    }
}

pub(crate) fn tasks_of_other_slots_are_left_out(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let tasks = (1..=30).zip(edges());
    let put = |(key, slot)| TaskWrite::Put(TaskRow { key, slot, value: vec![] });
    owner.commit(tasks.map(put).collect::<Vec<_>>());
    for (third, slots) in thirds().into_iter().enumerate() {
        for limit in [1, 3, 100] {
            let page = |after| store.tasks(slots, after, limit).unwrap();
            let keys = paged(limit, |after| page(after).iter().map(|task| task.key).collect());
            assert_eq!(keys, keys_of_third(third), "{slots} in pages of {limit}");
            assert!(page(0).iter().all(|task| slots.contains(task.slot)));
        }
    }
    assert_eq!(store.tasks(SlotRange::ALL, 0, 100).unwrap().len(), 30);
}

pub(crate) fn messages_of_other_slots_are_left_out(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let messages = (1..=30).zip(edges());
    let put = |(key, slot)| MessageWrite::Put { key, slot, value: vec![] };
    owner.commit(messages.map(put).collect::<Vec<_>>());
    for (third, slots) in thirds().into_iter().enumerate() {
        for limit in [1, 3, 100] {
            let page = |after| store.messages(slots, after, limit).unwrap();
            let keys =
                paged(limit, |after| page(after).iter().map(|message| message.key).collect());
            assert_eq!(keys, keys_of_third(third), "{slots} in pages of {limit}");
            assert!(page(0).iter().all(|message| slots.contains(message.slot)));
        }
    }
    assert_eq!(store.messages(SlotRange::ALL, 0, 100).unwrap().len(), 30);
}
