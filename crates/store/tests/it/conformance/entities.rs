//! Facts about entities of every kind.

use perennial_engine::{EntityId, EntityKey, EntityRef, Kind};
use perennial_store::Store;

use crate::writing::{
    NAMESPACE, Owner, current, delete, delete_schedule, fragment, head, load, load_schedule,
    new_run, new_schedule, reset_run, run_id, try_load,
};

/// Kind and key of entities.
fn by_keys(store: &dyn Store, keys: &[i64]) -> Vec<(Kind, i64)> {
    let keys: Vec<_> = keys.iter().copied().map(EntityKey).collect();
    let found = store.load_by_keys(&keys).unwrap();
    found.iter().map(|entity| (entity.kind, entity.key.0)).collect()
}

pub(crate) fn keys_find_runs_and_schedules(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![
        current(new_run(1, "order")),
        new_schedule(2, "nightly"),
        current(reset_run(3, "order", &[1])),
        new_schedule(4, "nightly"),
    ]);
    assert_eq!(
        by_keys(store, &[4, 99, 3, 1, 2, 3]),
        [(Kind::Schedule, 4), (Kind::Run, 3), (Kind::Run, 1), (Kind::Schedule, 2), (Kind::Run, 3)]
    );
    let found = store.load_by_keys(&[1, 2, 3, 4].map(EntityKey)).unwrap();
    let is_current: Vec<_> = found.iter().map(|entity| entity.is_current).collect();
    assert_eq!(is_current, [false, false, true, true]);
    let first_fragments: Vec<_> =
        found.iter().map(|entity| entity.first_fragment.clone()).collect();
    let first = Some(fragment(1, 2));
    assert_eq!(first_fragments, [first.clone(), None, first, None]);
    owner.commit(vec![delete(3), delete_schedule(4)]);
    assert_eq!(by_keys(store, &[3, 4, 2]), [(Kind::Schedule, 2)]);
}

pub(crate) fn workflow_and_schedule_of_one_id_are_apart(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![current(new_run(1, "report")), new_schedule(2, "report")]);
    let run = load(store, "report").unwrap();
    assert_eq!((run.kind, run.key.0), (Kind::Run, 1));
    let schedule = load_schedule(store, "report").unwrap();
    assert_eq!((schedule.kind, schedule.key.0), (Kind::Schedule, 2));
    owner.commit(vec![head(1, "changed"), delete_schedule(2)]);
    assert!(load_schedule(store, "report").is_none());
    assert_eq!(load(store, "report").unwrap().head, b"changed");
    owner.commit(vec![delete(1), new_schedule(3, "report")]);
    assert!(load(store, "report").is_none());
    assert_eq!(load_schedule(store, "report").unwrap().key.0, 3);
}

pub(crate) fn schedule_is_not_found_by_a_run_id(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![current(new_run(1, "report")), new_schedule(2, "report")]);
    let id = EntityId::schedule(NAMESPACE, "report");
    let wanted = EntityRef { id, run_id: Some(run_id(1)) };
    assert!(try_load(store, wanted).unwrap().is_none());
}

pub(crate) fn several_are_loaded_in_the_order_asked_for(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![current(new_run(1, "order")), new_schedule(2, "nightly")]);
    let run = EntityRef::current(EntityId::workflow(NAMESPACE, "order"));
    let schedule = EntityRef::current(EntityId::schedule(NAMESPACE, "nightly"));
    let unknown = EntityRef::run(NAMESPACE, "order", &run_id(9));
    let found = store.load(&[schedule.clone(), unknown, run, schedule]);
    let keys: Vec<_> =
        found.into_iter().map(|found| found.unwrap().map(|entity| entity.key.0)).collect();
    assert_eq!(keys, [Some(2), None, Some(1), Some(2)]);
    assert!(store.load(&[]).is_empty());
}
