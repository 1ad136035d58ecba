//! Schedules as they are written, loaded, listed and deleted.

use perennial_engine::{EntityId, EntityKey, EntityRef, NamespaceKey, PartId, SchedulePart, Time};
use perennial_store::{EntityWrite, Listed, Log, Store};

use super::lists::{keys, listed, shown};
use super::schedule_logs::{line, read};
use crate::writing::{
    Owner, Rows, change_schedule, current, delete_schedule, head, load, load_schedule, new_run,
    new_schedule, try_load,
};

const LOGS: [Log; 3] = [Log::Audit, Log::Ledger, Log::ManualLedger];

fn parts(key: i64, parts: Vec<(PartId, Option<Vec<u8>>)>) -> EntityWrite {
    EntityWrite { parts, ..change_schedule(key) }
}

fn schedule_head(key: i64, head: &str) -> EntityWrite {
    EntityWrite { head: Some(head.into()), ..change_schedule(key) }
}

/// A new schedule that has a row in every table.
fn whole_schedule(key: i64, schedule_id: &str) -> EntityWrite {
    EntityWrite {
        parts: vec![(SchedulePart::Config.row_id(), Some(b"config".to_vec()))],
        log: LOGS.map(|log| line(log, 1, "line")).to_vec(),
        wake_at: Some(Time(100)),
        visibility: Some(row(key, schedule_id, None)),
        ..new_schedule(key, schedule_id)
    }
}

/// What lists show of a schedule.
fn row(key: i64, schedule_id: &str, closed_at: Option<i64>) -> Listed {
    Listed::Row(Box::new(listed(key, schedule_id, closed_at)))
}

/// Everything that a store holds of schedule `key`, as text.
fn seen(store: &dyn Store, key: i64) -> String {
    let loaded = store.load_by_keys(&[EntityKey(key)]).unwrap();
    let logs = LOGS.map(|log| read(store, key, log, (i64::MIN, i64::MAX), 10, false));
    let wakes: Vec<_> = super::wakes::all(store).into_iter().filter(|wake| wake.1 == key).collect();
    let shown: Vec<_> = keys(store, "").into_iter().filter(|shown| *shown == key).collect();
    format!("{loaded:?} {logs:?} {wakes:?} {shown:?}")
}

pub(crate) fn new_schedule_is_loaded_whole(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(whole_schedule(7, "nightly"));
    let by_key = store.load_by_keys(&[EntityKey(7)]).unwrap();
    assert_eq!(by_key.len(), 1);
    for schedule in [load_schedule(store, "nightly").unwrap(), by_key[0].clone()] {
        assert_eq!((schedule.key, schedule.head.as_slice()), (EntityKey(7), b"new".as_slice()));
        assert_eq!(schedule.parts, [(SchedulePart::Config.row_id(), b"config".to_vec())]);
    }
    owner.commit(schedule_head(7, "changed"));
    let schedule = load_schedule(store, "nightly").unwrap();
    assert_eq!((schedule.head.as_slice(), schedule.parts.len()), (b"changed".as_slice(), 1));
}

pub(crate) fn parts_of_a_schedule_come_in_the_order_of_their_keys(store: &dyn Store) {
    let mut part_keys = vec![
        SchedulePart::Ahead(1_700_000_000_000_000_000).row_id(),
        SchedulePart::Ahead(5).row_id(),
        SchedulePart::Backfill(300).row_id(),
        SchedulePart::Backfill(2).row_id(),
        SchedulePart::Buffered(70_000).row_id(),
        SchedulePart::Buffered(256).row_id(),
        SchedulePart::Buffered(0).row_id(),
        SchedulePart::Running("b".into()).row_id(),
        SchedulePart::Running("aa".into()).row_id(),
        SchedulePart::Running("a".into()).row_id(),
        SchedulePart::LastOutcome.row_id(),
        SchedulePart::Config.row_id(),
    ];
    let mut owner = Owner::first(store);
    let part = |key: &PartId| (key.clone(), Some(format!("{key:?}").into_bytes()));
    owner.commit(vec![new_schedule(1, "nightly"), new_schedule(2, "hourly")]);
    owner.commit(parts(1, part_keys.iter().map(part).collect()));
    owner.commit(parts(2, vec![part(&SchedulePart::Buffered(9).row_id())]));
    part_keys.sort();
    let expected = part_keys.iter().map(|key| (key.clone(), format!("{key:?}").into_bytes()));
    assert_eq!(load_schedule(store, "nightly").unwrap().parts, expected.collect::<Vec<_>>());
}

pub(crate) fn parts_of_a_schedule_are_replaced_and_removed(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let running = |id: &str| SchedulePart::Running(id.to_owned()).row_id();
    owner.commit(EntityWrite {
        parts: ["a", "b", "c"].map(|id| (running(id), Some(vec![0]))).to_vec(),
        ..new_schedule(1, "nightly")
    });
    owner.commit(parts(
        1,
        vec![
            (running("a"), None),
            (running("b"), Some(vec![2])),
            (running("d"), None),
            (SchedulePart::LastOutcome.row_id(), None),
        ],
    ));
    let schedule = load_schedule(store, "nightly").unwrap();
    assert_eq!(schedule.parts, [(running("b"), vec![2]), (running("c"), vec![0])]);
}

pub(crate) fn latest_incarnation_of_a_schedule_wins(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(whole_schedule(3, "nightly"));
    owner.commit(vec![new_schedule(7, "nightly"), new_schedule(9, "hourly")]);
    owner.commit(schedule_head(3, "the first"));
    let latest = load_schedule(store, "nightly").unwrap();
    assert_eq!((latest.key.0, latest.head.as_slice()), (7, b"new".as_slice()));
    assert!(latest.parts.is_empty(), "they are the first one's");
    let earlier = store.load_by_keys(&[EntityKey(3)]).unwrap().remove(0);
    assert_eq!((earlier.head.as_slice(), earlier.parts.len()), (b"the first".as_slice(), 1));
}

pub(crate) fn earlier_incarnation_is_the_latest_again_when_the_later_one_goes(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit([1, 2, 3].map(|key| new_schedule(key, "nightly")).to_vec());
    owner.commit(delete_schedule(3));
    assert_eq!(load_schedule(store, "nightly").unwrap().key.0, 2);
    owner.commit(delete_schedule(1));
    assert_eq!(load_schedule(store, "nightly").unwrap().key.0, 2);
}

pub(crate) fn schedules_are_loaded_in_the_order_asked_for(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit([1, 2, 3].map(|key| new_schedule(key, "nightly")).to_vec());
    let load = |keys: &[i64]| -> Vec<i64> {
        let keys: Vec<_> = keys.iter().copied().map(EntityKey).collect();
        store.load_by_keys(&keys).unwrap().iter().map(|schedule| schedule.key.0).collect()
    };
    assert_eq!(load(&[3, 99, 1, 2, 1]), [3, 1, 2, 1]);
    assert!(load(&[99]).is_empty());
    assert!(load(&[]).is_empty());
}

pub(crate) fn schedule_is_found_only_under_its_own_names(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut rows = Rows::from(new_schedule(1, "nightly"));
    rows.entities.push(current(new_run(2, "order")));
    owner.commit(rows);
    for other in ["", "nightl", "nightly ", "NIGHTLY", "order"] {
        assert!(load_schedule(store, other).is_none(), "{other}");
    }
    let elsewhere = EntityRef::current(EntityId::schedule(NamespaceKey(2), "nightly"));
    assert!(try_load(store, elsewhere).unwrap().is_none());
    assert!(load(store, "nightly").is_none());
}

pub(crate) fn schedule_needs_a_head(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let problem = owner.conflict(EntityWrite { head: None, ..new_schedule(1, "nightly") });
    assert!(problem.contains("schedule 1: it is created without a head"), "{problem}");
    assert!(load_schedule(store, "nightly").is_none());
}

pub(crate) fn schedule_is_created_once(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(whole_schedule(1, "nightly"));
    let before = seen(store, 1);
    let problem = owner.conflict(new_schedule(1, "hourly"));
    assert!(problem.contains("a schedule 1 already"), "{problem}");
    assert!(load_schedule(store, "hourly").is_none());
    assert_eq!(seen(store, 1), before);
}

pub(crate) fn write_to_an_unknown_schedule_is_refused(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(new_run(2, "order"));
    let change = change_schedule;
    let writes = |key| {
        [
            schedule_head(key, "changed"),
            parts(key, vec![(SchedulePart::Config.row_id(), Some(vec![1]))]),
            EntityWrite { log: vec![line(Log::Audit, 1, "line")], ..change(key) },
            EntityWrite { wake_at: Some(Time(100)), ..change(key) },
            EntityWrite { wake_at: Some(Time(100)), ..schedule_head(key, "changed") },
            EntityWrite { visibility: Some(row(key, "nightly", None)), ..change(key) },
            change(key),
        ]
    };
    for key in [1, 2] {
        let nothing = seen(store, key);
        for write in writes(key) {
            let problem = owner.conflict(write);
            assert!(problem.contains(&format!("no schedule {key}")), "{problem}");
        }
        assert_eq!(seen(store, key), nothing);
    }
}

pub(crate) fn schedule_is_listed_beside_runs_under_its_own_key(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut rows = Rows::from(whole_schedule(2, "nightly"));
    for key in [1, 3] {
        rows.entities.push(shown(new_run(key, "order"), listed(key, "order", None)));
    }
    owner.commit(rows);
    assert_eq!(keys(store, ""), [3, 2, 1]);
    assert_eq!(keys(store, "WorkflowId = 'nightly'"), [2]);
    let shown = Some(row(2, "nightly", Some(9)));
    owner.commit(EntityWrite { visibility: shown, ..change_schedule(2) });
    assert_eq!(keys(store, "ExecutionStatus = 'Completed'"), [2]);
    let shown = Some(row(1, "nightly", None));
    let problem = owner.conflict(EntityWrite { visibility: shown, ..change_schedule(2) });
    assert!(problem.contains("lists would show it as 1"), "{problem}");
}

pub(crate) fn deleted_schedule_is_gone_with_all_its_rows(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let nothing = seen(store, 2);
    owner.commit([1, 2, 3].map(|key| whole_schedule(key, &format!("every-{key}"))).to_vec());
    let others = [1, 3].map(|key| seen(store, key));
    owner.commit(delete_schedule(2));
    assert_eq!(seen(store, 2), nothing);
    assert!(load_schedule(store, "every-2").is_none());
    assert_eq!([1, 3].map(|key| seen(store, key)), others);
    owner.conflict(schedule_head(2, "changed"));
    owner.commit(new_schedule(2, "every-2"));
    assert!(load_schedule(store, "every-2").unwrap().parts.is_empty(), "none is left over");
}

pub(crate) fn unknown_schedule_is_deleted_without_complaint(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut rows = Rows::from(new_schedule(1, "nightly"));
    rows.entities.push(current(new_run(2, "order")));
    owner.commit(rows);
    owner.commit([2, 99, 1, 1].map(delete_schedule).to_vec());
    assert!(load_schedule(store, "nightly").is_none());
    assert!(load(store, "order").is_some(), "a run isn't a schedule");
}

pub(crate) fn schedule_is_not_deleted_and_written_at_once(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(whole_schedule(1, "nightly"));
    let before = seen(store, 1);
    let config = vec![(SchedulePart::Config.row_id(), None)];
    for write in [
        schedule_head(1, "changed"),
        parts(1, config),
        EntityWrite { log: vec![line(Log::Audit, 1, "line")], ..change_schedule(1) },
        EntityWrite { wake_at: Some(Time::NONE), ..change_schedule(1) },
        whole_schedule(1, "nightly"),
    ] {
        let problem = owner.conflict(EntityWrite { deleted: true, ..write });
        assert!(problem.contains("deleted and written at once"), "{problem}");
    }
    assert_eq!(seen(store, 1), before);
}

pub(crate) fn refused_write_leaves_schedules_as_they_were(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut rows = Rows::from([1, 2].map(|key| whole_schedule(key, "nightly")).to_vec());
    rows.entities.push(current(new_run(9, "order")));
    owner.commit(rows);
    let before = [1, 2, 3].map(|key| seen(store, key));
    let mut rows = Rows::from(vec![
        EntityWrite {
            head: Some(b"changed".to_vec()),
            parts: vec![
                (SchedulePart::Config.row_id(), None),
                (SchedulePart::LastOutcome.row_id(), Some(vec![1])),
            ],
            log: vec![line(Log::Audit, 1, "changed"), line(Log::Ledger, 2, "added")],
            wake_at: Some(Time(900)),
            visibility: Some(row(1, "nightly", Some(9))),
            ..change_schedule(1)
        },
        delete_schedule(2),
        whole_schedule(3, "nightly"),
        schedule_head(99, "of no schedule"),
    ]);
    rows.entities.push(head(9, "changed"));
    owner.conflict(rows);
    assert_eq!([1, 2, 3].map(|key| seen(store, key)), before);
    assert_eq!(load_schedule(store, "nightly").unwrap().key.0, 2);
    assert_eq!(load(store, "order").unwrap().head, b"new");
}
