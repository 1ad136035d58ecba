//! What was committed is there after a restart.

use perennial_engine::{RunPart, SchedulePart, Slot, SlotRange, Time};
use perennial_store::{
    BatchId, EntityWrite, Log, LogLine, MessageWrite, RecordKind, TaskRow, TaskWrite,
};

use super::backends::{Lasting, Memory, Postgres, SqliteFile};
use super::records::record;
use crate::writing::{
    Owner, Rows, current, delete, divide_in_two, load, load_by_id, load_schedule, new_run,
    new_schedule, reset_run, wake,
};

fn reopened_store_holds_what_was_committed<B: Lasting>() {
    let backend = B::fresh();
    let [_, second] = divide_in_two(backend.store());
    let mut owner = Owner::of(backend.store(), second);
    let mut write = wake(current(new_run(1, "order")), 100);
    write.parts = vec![(RunPart::Update("u".into()).row_id(), Some(vec![1]))];
    let mut rows = Rows::from(vec![write, reset_run(2, "order", &[1])]);
    let line = LogLine { log: Log::Audit, position: 1, value: vec![7] };
    rows.entities.push(EntityWrite {
        parts: vec![(SchedulePart::Config.row_id(), Some(vec![8]))],
        log: vec![line.clone()],
        wake_at: Some(Time(200)),
        ..new_schedule(9, "nightly")
    });
    rows.tasks = vec![TaskWrite::Put(TaskRow { key: 5, slot: Slot(1), value: vec![5] })];
    rows.messages = vec![MessageWrite::Put { key: 6, slot: Slot(1), value: vec![6] }];
    rows.records = vec![record(RecordKind::Namespace, "default", Some("n"))];
    owner.commit(rows);
    let epoch = owner.epoch;

    let backend = backend.reopen();
    let store = backend.store();
    let run = load(store, "order").unwrap();
    assert_eq!((run.key.0, run.head.as_slice(), run.parts.len()), (1, b"new".as_slice(), 1));
    let schedule = load_schedule(store, "nightly").unwrap();
    assert_eq!(schedule.parts, [(SchedulePart::Config.row_id(), vec![8])]);
    let log = store.log(schedule.key, Log::Audit, (0, 9), 10, false).unwrap();
    assert_eq!(log, [line]);
    assert_eq!(super::wakes::all(store), [(100, 1), (200, 9)]);
    assert_eq!(store.tasks(SlotRange::ALL, 0, 10).unwrap()[0].value, [5]);
    assert_eq!(store.messages(SlotRange::ALL, 0, 10).unwrap()[0].value, [6]);
    assert_eq!(store.records(RecordKind::Namespace, "", "", 10).unwrap().len(), 1);

    let last_batch = BatchId { epoch, sequence: 1 };
    assert_eq!(store.lease(second, "test").unwrap().last_batch, last_batch);
    let mut owner = Owner::first(store);
    assert!(owner.epoch > epoch, "epochs go on, also for another cell");
    owner.commit(delete(1));
    let backend = backend.reopen();
    let found = load_by_id(backend.store(), "order", 2);
    assert!(found.is_some(), "the reset run still finds its first event");
}

#[test]
fn reopened_memory_store_holds_what_was_committed() {
    reopened_store_holds_what_was_committed::<Memory>();
}

#[test]
fn reopened_sqlite_file_holds_what_was_committed() {
    reopened_store_holds_what_was_committed::<SqliteFile>();
}

#[test]
fn reopened_postgres_database_holds_what_was_committed() {
    reopened_store_holds_what_was_committed::<Postgres>();
}
