//! Commits are atomic.

use perennial_engine::{RunPart, Slot, SlotRange};
use perennial_store::{
    CellId, Error, MessageWrite, RecordKind, RecordWrite, Store, TaskRow, TaskWrite,
};

use super::leases::last_sequence;
use crate::writing::{
    Owner, Rows, current, delete, divide_in_two, events, fragment, head, load, load_by_id, new_run,
    parts, wake,
};

pub(crate) fn commit_of_nothing_is_good(store: &dyn Store) {
    store.commit(&[]).unwrap();
}

pub(crate) fn batches_of_one_commit_follow_each_other(store: &dyn Store) {
    let cells = divide_in_two(store);
    let [mut first, second] = cells.map(|cell| Owner::of(store, cell));
    let created = first.batch(current(new_run(1, "order")));
    first.sequence += 1;
    let changed = first.batch(head(1, "changed"));
    store.commit(&[created, second.batch(current(new_run(2, "invoice"))), changed]).unwrap();
    assert_eq!(load(store, "order").unwrap().head, b"changed");
    assert_eq!(load(store, "invoice").unwrap().head, b"new");
    assert_eq!(cells.map(|cell| last_sequence(store, cell)), [2, 1]);
}

pub(crate) fn refused_batch_takes_the_others_of_its_commit_with_it(store: &dyn Store) {
    let cells = divide_in_two(store);
    let [good, old] = cells.map(|cell| Owner::of(store, cell));
    Owner::of(store, cells[1]);
    let batches =
        [good.batch(current(new_run(1, "order"))), old.batch(current(new_run(2, "invoice")))];
    assert!(matches!(store.commit(&batches), Err(Error::Fenced(_))));
    assert!(load(store, "order").is_none());
    assert_eq!(last_sequence(store, CellId::FIRST), 0);
}

pub(crate) fn refused_write_leaves_no_trace_of_those_before_it(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let part = |value: &str| vec![(RunPart::Timer(5).row_id(), Some(value.as_bytes().to_vec()))];
    let mut before = vec![current(wake(new_run(1, "order"), 100)), current(new_run(2, "gone"))];
    before[0].parts = part("before");
    owner.commit(before);
    let mut rows = Rows::from(vec![
        wake(head(1, "after"), 200),
        parts(1, part("after")),
        events(1, vec![fragment(3, 3)]),
        delete(2),
        current(wake(new_run(3, "order"), 300)),
        head(99, "of no run"),
    ]);
    rows.tasks = vec![TaskWrite::Put(TaskRow { key: 1, slot: Slot(1), value: vec![1] })];
    rows.messages = vec![MessageWrite::Put { key: 1, slot: Slot(1), value: vec![1] }];
    let record = |key: &str| RecordWrite {
        kind: RecordKind::Cluster,
        key: key.to_owned(),
        value: Some(vec![1]),
    };
    rows.records = vec![record("fact")];
    owner.conflict(rows);

    let run = load(store, "order").unwrap();
    assert_eq!((run.key.0, run.head.as_slice()), (1, b"new".as_slice()));
    assert_eq!(run.parts, [(RunPart::Timer(5).row_id(), b"before".to_vec())]);
    assert!(load(store, "gone").is_some());
    assert!(load_by_id(store, "order", 3).is_none());
    let whole = perennial_store::HistoryRange {
        branch: run.key,
        first_event_id: 1,
        last_event_id: i64::MAX,
    };
    assert_eq!(store.history(whole, usize::MAX, false).unwrap(), [fragment(1, 2)]);
    let wakes = super::wakes::all(store);
    assert_eq!(wakes, [(100, 1)]);
    assert!(store.tasks(SlotRange::ALL, i64::MIN, 10).unwrap().is_empty());
    assert!(store.messages(SlotRange::ALL, i64::MIN, 10).unwrap().is_empty());
    assert!(store.records(RecordKind::Cluster, "", "", 10).unwrap().is_empty());
    assert_eq!(last_sequence(store, CellId::FIRST), 1);
}

pub(crate) fn store_goes_on_after_a_refused_batch(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    owner.conflict(vec![head(1, "lost"), head(2, "of no run")]);
    owner.commit(events(1, vec![fragment(3, 3)]));
    assert_eq!(load(store, "order").unwrap().head, b"new");
    assert_eq!(last_sequence(store, CellId::FIRST), 2);
}

pub(crate) fn last_write_to_a_key_wins(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let task = |value| TaskWrite::Put(TaskRow { key: 1, slot: Slot(1), value: vec![value] });
    let mut rows = Rows::from(vec![
        current(new_run(1, "order")),
        current(new_run(2, "order")),
        head(1, "second"),
        wake(head(1, "third"), 100),
        wake(head(1, "fourth"), 200),
    ]);
    rows.tasks = vec![task(1), TaskWrite::Delete(1), task(2), task(3)];
    owner.commit(rows);
    assert_eq!(load_by_id(store, "order", 1).unwrap().head, b"fourth");
    assert_eq!(load(store, "order").unwrap().key.0, 2);
    assert_eq!(super::wakes::all(store), [(200, 1)]);
    assert_eq!(store.tasks(SlotRange::ALL, 0, 10).unwrap()[0].value, [3]);
}
