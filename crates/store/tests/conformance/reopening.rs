//! What was committed is there after a restart.

use perennial_engine::{PartKey, SchedulePart, Slot, Time};
use perennial_store::{
    LastBatch, Log, LogLine, MessageWrite, RecordKind, ScheduleWrite, TaskRow, TaskWrite,
};

use crate::backends::{Lasting, Memory, SqliteFile};
use crate::records::record;
use crate::writing::{
    Owner, Rows, current, delete, load, load_schedule, new_run, new_schedule, reset_run, wake,
};

fn reopened_store_holds_what_was_committed<B: Lasting>() {
    let backend = B::fresh();
    let mut owner = Owner::of(backend.store(), 3);
    let mut write = wake(current(new_run(1, "order")), 100);
    write.parts = vec![(PartKey::Update("u".into()), Some(vec![1]))];
    let mut rows = Rows::from(vec![write, reset_run(2, "order", &[1])]);
    let line = LogLine { log: Log::Audit, position: 1, value: vec![7] };
    rows.schedules = vec![ScheduleWrite {
        parts: vec![(SchedulePart::Config, Some(vec![8]))],
        log: vec![line.clone()],
        wake_at: Some(Time(200)),
        ..new_schedule(9, "nightly")
    }];
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
    assert_eq!(schedule.parts, [(SchedulePart::Config, vec![8])]);
    let log = store.schedule_log(schedule.key, Log::Audit, (0, 9), 10, false).unwrap();
    assert_eq!(log, [line]);
    assert_eq!(crate::wakes::all(store), [(100, 1), (200, 9)]);
    assert_eq!(store.tasks(0, 10).unwrap()[0].value, [5]);
    assert_eq!(store.messages(0, 10).unwrap()[0].value, [6]);
    assert_eq!(store.records(RecordKind::Namespace, "", "", 10).unwrap().len(), 1);

    let last_batch = LastBatch { epoch, sequence: 1 };
    assert_eq!(store.lease(3).unwrap().last_batch, Some(last_batch));
    let mut owner = Owner::of(store, 4);
    assert!(owner.epoch > epoch, "epochs go on, also for another cell");
    owner.commit(delete(1));
    let backend = backend.reopen();
    let found = backend.store().load_run(
        crate::writing::NAMESPACE,
        "order",
        Some(&crate::writing::run_id(2)),
    );
    assert!(found.unwrap().is_some(), "the reset run still finds its first event");
}

#[test]
fn reopened_memory_store_holds_what_was_committed() {
    reopened_store_holds_what_was_committed::<Memory>();
}

#[test]
fn reopened_sqlite_file_holds_what_was_committed() {
    reopened_store_holds_what_was_committed::<SqliteFile>();
}
