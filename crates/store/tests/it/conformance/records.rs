//! Single records.

use perennial_store::{RecordKind, RecordWrite, Store};

use crate::writing::Owner;

pub(crate) fn record(kind: RecordKind, key: &str, value: Option<&str>) -> RecordWrite {
    RecordWrite { kind, key: key.to_owned(), value: value.map(|value| value.as_bytes().to_vec()) }
}

const NONE: [&str; 0] = [];

fn keys(store: &dyn Store, prefix: &str, after: &str, limit: usize) -> Vec<String> {
    let records = store.records(RecordKind::BatchJob, prefix, after, limit).unwrap();
    records.into_iter().map(|(key, _)| key).collect()
}

pub(crate) fn records_are_kept_by_kind_and_key(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let kinds = [RecordKind::Namespace, RecordKind::BatchJob, RecordKind::Cluster];
    owner.commit(kinds.map(|kind| record(kind, "a", Some(&format!("{kind:?}")))).to_vec());
    for kind in kinds {
        let expected = ("a".to_owned(), format!("{kind:?}").into_bytes());
        assert_eq!(store.records(kind, "", "", 10).unwrap(), [expected]);
    }
    owner.commit(vec![
        record(RecordKind::Namespace, "a", Some("changed")),
        record(RecordKind::Cluster, "a", None),
        record(RecordKind::Cluster, "never there", None),
    ]);
    let changed = store.records(RecordKind::Namespace, "", "", 10).unwrap();
    assert_eq!(changed, [("a".to_owned(), b"changed".to_vec())]);
    assert!(store.records(RecordKind::Cluster, "", "", 10).unwrap().is_empty());
    assert_eq!(keys(store, "", "", 10), ["a"]);
}

pub(crate) fn records_are_paged_within_a_prefix(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let all = ["a", "b/1", "b/2", "b/3", "b0", "c", "é", "\u{10ffff}"];
    owner.commit(all.map(|key| record(RecordKind::BatchJob, key, Some("job"))).to_vec());
    assert_eq!(keys(store, "", "", 100), all);
    assert_eq!(keys(store, "b/", "", 100), ["b/1", "b/2", "b/3"]);
    assert_eq!(keys(store, "b/", "", 2), ["b/1", "b/2"]);
    assert_eq!(keys(store, "b/", "b/2", 2), ["b/3"]);
    assert_eq!(keys(store, "b/", "b/3", 2), NONE);
    assert_eq!(keys(store, "b/", "a", 1), ["b/1"]);
    assert_eq!(keys(store, "b/", "z", 1), NONE);
    assert_eq!(keys(store, "b", "b/3", 10), ["b0"]);
    assert_eq!(keys(store, "x", "", 10), NONE);
    assert_eq!(keys(store, "\u{10ffff}", "", 10), ["\u{10ffff}"]);
    assert_eq!(keys(store, "", "", 0), NONE);
}

pub(crate) fn record_without_a_key_is_refused(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let problem = owner.conflict(vec![record(RecordKind::Cluster, "", Some("value"))]);
    assert!(problem.contains("empty key"), "{problem}");
}
