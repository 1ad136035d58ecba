//! Unusual names and values.

use perennial_engine::{EntityId, EntityKey, EntityRef, RunPart, SlotRange, Time};
use perennial_store::{EntityWrite, Listed, RecordKind, Store};

use super::lists::listed;
use super::records::record;
use crate::writing::{
    NAMESPACE, Owner, current, load, load_by_id, load_schedule, new_run, new_schedule, try_load,
};

fn strings() -> Vec<String> {
    let long = "x".repeat(1_000);
    [
        "",
        " ",
        "\u{1}",
        "a",
        "a\u{1}",
        "a\u{1}b",
        "'",
        "\"; DROP TABLE runs; --",
        "%_",
        "é",
        "e\u{301}",
        "🦀",
        "A",
        &long,
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([format!("{long}y"), "\u{10ffff}".to_owned(), "\u{feff}a".to_owned()])
    .collect()
}

pub(crate) fn any_string_is_a_workflow_id(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let ids = strings();
    for (key, id) in (1..).zip(&ids) {
        owner.commit(crate::writing::wake(current(new_run(key, id)), key));
    }
    for (key, id) in (1..).zip(&ids) {
        assert_eq!(load(store, id).unwrap().key.0, key, "{id:?}");
        assert_eq!(load_by_id(store, id, key).unwrap().key.0, key, "{id:?}");
    }
    let expected = (1..)
        .zip(&ids)
        .map(|(key, id)| EntityRef::run(NAMESPACE, id, &crate::writing::run_id(key)));
    assert_eq!(woken(store), expected.collect::<Vec<_>>());
}

pub(crate) fn any_string_is_a_schedule_id(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let ids = strings();
    for (key, id) in (1..).zip(&ids) {
        let wake_at = Some(Time(key));
        owner.commit(EntityWrite { wake_at, ..new_schedule(key, id) });
    }
    for (key, id) in (1..).zip(&ids) {
        assert_eq!(load_schedule(store, id).unwrap().key.0, key, "{id:?}");
    }
    let expected = ids.into_iter().map(|id| EntityRef::current(EntityId::schedule(NAMESPACE, id)));
    assert_eq!(woken(store), expected.collect::<Vec<_>>());
}

fn woken(store: &dyn Store) -> Vec<EntityRef> {
    let wakes = store.wakes(SlotRange::ALL, (Time(0), EntityKey(0)), Time(1_000), 1_000).unwrap();
    wakes.into_iter().map(|wake| wake.entity).collect()
}

pub(crate) fn any_string_asks_for_a_run_without_harm(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    for id in strings() {
        let id_of_order = EntityId::workflow(NAMESPACE, "order");
        let wanted = EntityRef { id: id_of_order, run_id: Some(id.clone()) };
        assert!(try_load(store, wanted).unwrap().is_none(), "{id:?}");
        assert!(load(store, &id).is_none(), "{id:?}");
    }
}

pub(crate) fn any_string_names_a_part_and_a_record(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut write = current(new_run(1, "order"));
    let request = |id: String| (RunPart::Request(id.clone()).row_id(), Some(id.into_bytes()));
    write.parts = strings().into_iter().map(request).collect();
    owner.commit(write);
    let named: Vec<String> = strings().into_iter().filter(|name| !name.is_empty()).collect();
    let records = named.iter().map(|name| record(RecordKind::Cluster, name, Some(name)));
    owner.commit(records.collect::<Vec<_>>());

    let mut sorted = strings();
    sorted.sort();
    let parts = load(store, "order").unwrap().parts;
    let expected =
        sorted.iter().map(|id| (RunPart::Request(id.clone()).row_id(), id.clone().into_bytes()));
    assert_eq!(parts, expected.collect::<Vec<_>>());
    let records = store.records(RecordKind::Cluster, "", "", 100).unwrap();
    let expected = sorted.into_iter().filter(|name| !name.is_empty());
    assert_eq!(records, expected.map(|name| (name.clone(), name.into_bytes())).collect::<Vec<_>>());
}

pub(crate) fn any_bytes_are_a_value(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let values = [vec![], vec![0], (0..=255).collect(), vec![0xff; 3_000_000]];
    for (key, value) in (1..).zip(&values) {
        let mut write = current(new_run(key, &key.to_string()));
        write.head = Some(value.clone());
        write.parts = vec![(RunPart::Timer(1).row_id(), Some(value.clone()))];
        write.history[0].bytes = value.clone().into();
        owner.commit(write);
    }
    for (key, value) in (1..).zip(&values) {
        let run = load(store, &format!("{key}")).unwrap();
        assert!(run.head == *value && run.parts[0].1 == *value, "value {key}");
        assert!(run.first_fragment.unwrap().bytes == *value, "value {key}");
    }
}

pub(crate) fn text_with_a_null_character_is_refused_and_never_found(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let id = "a\0b";
    let shown = |row| EntityWrite { visibility: Some(row), ..new_run(2, "order") };
    let mut row = listed(2, "order", None);
    row.execution.workflow_type = id.to_owned();
    let writes = [new_run(1, id), new_schedule(1, id), shown(Listed::Row(Box::new(row)))];
    for write in writes {
        let problem = owner.conflict(write);
        assert!(problem.contains("U+0000"), "{problem}");
    }
    let problem = owner.conflict(vec![record(RecordKind::Cluster, id, Some("value"))]);
    assert!(problem.contains("U+0000"), "{problem}");
    assert!(load(store, id).is_none() && load_schedule(store, id).is_none());
    assert!(load_by_id(store, id, 1).is_none());
}
