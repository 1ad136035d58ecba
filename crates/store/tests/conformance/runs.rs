//! Runs as they are written and loaded.

use perennial_engine::{NamespaceKey, PartKey, RunKey};
use perennial_store::{RunWrite, Store};

use crate::writing::{
    NAMESPACE, Owner, change, current, events, fragment, head, load, load_by_id, new_run, parts,
    reset_run, run_id,
};

pub(crate) fn new_run_is_loaded_whole(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    let mut write = current(new_run(7, "order"));
    write.parts = vec![(PartKey::Activity(5), Some(b"activity".to_vec()))];
    write.history = vec![fragment(1, 3), fragment(4, 4)];
    owner.commit(write);
    for run in [load(store, "order").unwrap(), load_by_id(store, "order", 7).unwrap()] {
        assert_eq!(run.key, RunKey(7));
        assert_eq!(run.head, b"new");
        assert_eq!(run.parts, [(PartKey::Activity(5), b"activity".to_vec())]);
        assert_eq!(run.first_fragment, fragment(1, 3));
        assert!(run.is_current);
    }
}

pub(crate) fn unknown_names_load_nothing(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    assert!(load(store, "order").is_none());
    owner.commit(current(new_run(1, "order")));
    assert!(load(store, "orde").is_none());
    assert!(load(store, "ORDER").is_none());
    assert!(load_by_id(store, "order", 2).is_none());
}

pub(crate) fn run_is_found_only_under_its_own_names(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(current(new_run(1, "order")));
    assert!(load_by_id(store, "invoice", 1).is_none());
    let other = NamespaceKey(2);
    assert!(store.load_run(other, "order", Some(&run_id(1))).unwrap().is_none());
    assert!(store.load_run(other, "order", None).unwrap().is_none());
    assert!(store.load_run(NAMESPACE, "order", Some(&run_id(1).to_uppercase())).unwrap().is_none());
}

pub(crate) fn head_changes_alone(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    let mut write = current(new_run(1, "order"));
    write.parts = vec![(PartKey::Timer(5), Some(vec![5]))];
    owner.commit(vec![write, current(new_run(2, "invoice"))]);
    owner.commit(head(1, "changed"));
    let run = load(store, "order").unwrap();
    assert_eq!(run.head, b"changed");
    assert_eq!(run.parts.len(), 1);
    assert_eq!(load(store, "invoice").unwrap().head, b"new");
}

pub(crate) fn parts_come_in_the_order_of_their_keys(store: &dyn Store) {
    let mut keys = vec![
        PartKey::Buffered(1),
        PartKey::Update("b".into()),
        PartKey::Update("a".into()),
        PartKey::Request("aa".into()),
        PartKey::Request("a".into()),
        PartKey::Cancel(3),
        PartKey::Signal(3),
        PartKey::Child(3),
        PartKey::Timer(256),
        PartKey::Timer(3),
        PartKey::Activity(70_000),
        PartKey::Activity(300),
        PartKey::Activity(3),
    ];
    let mut owner = Owner::of(store, 0);
    let part = |key: &PartKey| (key.clone(), Some(format!("{key:?}").into_bytes()));
    owner.commit(vec![current(new_run(1, "order")), current(new_run(2, "invoice"))]);
    owner.commit(parts(1, keys.iter().map(part).collect()));
    owner.commit(parts(2, vec![part(&PartKey::Timer(9))]));
    keys.sort();
    let run = load(store, "order").unwrap();
    assert_eq!(
        run.parts.iter().map(|(key, _)| key).collect::<Vec<_>>(),
        keys.iter().collect::<Vec<_>>()
    );
    assert!(run.parts.iter().all(|(key, value)| format!("{key:?}").as_bytes() == value));
}

pub(crate) fn parts_are_replaced_and_removed(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    let mut write = current(new_run(1, "order"));
    write.parts = (1..=3).map(|id| (PartKey::Timer(id), Some(vec![0]))).collect();
    owner.commit(write);
    owner.commit(parts(
        1,
        vec![
            (PartKey::Timer(1), None),
            (PartKey::Timer(2), Some(vec![2])),
            (PartKey::Timer(4), None),
            (PartKey::Activity(3), None),
        ],
    ));
    let run = load(store, "order").unwrap();
    assert_eq!(run.parts, [(PartKey::Timer(2), vec![2]), (PartKey::Timer(3), vec![0])]);
}

pub(crate) fn current_run_is_the_one_that_became_it_last(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(new_run(1, "order"));
    assert!(load(store, "order").is_none(), "nothing became current");
    assert!(!load_by_id(store, "order", 1).unwrap().is_current);
    owner.commit(current(change(1)));
    assert_eq!(load(store, "order").unwrap().key.0, 1);
    owner.commit(vec![current(new_run(2, "order")), current(new_run(3, "order"))]);
    assert_eq!(load(store, "order").unwrap().key.0, 3);
    assert!(!load_by_id(store, "order", 2).unwrap().is_current);
}

pub(crate) fn earlier_run_becomes_current_again(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(vec![current(new_run(1, "order")), current(new_run(2, "order"))]);
    owner.commit(current(change(1)));
    assert_eq!(load(store, "order").unwrap().key.0, 1);
    assert!(load_by_id(store, "order", 1).unwrap().is_current);
    assert!(!load_by_id(store, "order", 2).unwrap().is_current);
}

pub(crate) fn run_needs_a_uuid_a_head_and_a_first_event(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    let whole = current(new_run(1, "order"));
    let mut without_uuid = whole.clone();
    without_uuid.created.as_mut().unwrap().run_id = "first".to_owned();
    let refused: [(RunWrite, &str); 4] = [
        (without_uuid, "`first` isn't a UUID"),
        (RunWrite { head: None, ..whole.clone() }, "without a head"),
        (RunWrite { history: vec![], ..whole.clone() }, "without its first event"),
        (RunWrite { history: vec![fragment(2, 3)], ..whole }, "without its first event"),
    ];
    for (write, expected) in refused {
        let problem = owner.conflict(write);
        assert!(problem.contains(expected), "{problem}");
    }
    assert!(load(store, "order").is_none());
}

pub(crate) fn run_is_created_once(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(current(new_run(1, "order")));
    let mut again = current(new_run(1, "invoice"));
    again.created.as_mut().unwrap().run_id = run_id(2);
    owner.conflict(again);
    assert!(load(store, "invoice").is_none());
}

pub(crate) fn run_id_is_used_once(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(current(new_run(1, "order")));
    let mut other = current(new_run(2, "invoice"));
    other.created.as_mut().unwrap().run_id = run_id(1);
    owner.conflict(other);
    assert!(load(store, "invoice").is_none());
}

pub(crate) fn write_to_an_unknown_run_is_refused(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    let part = vec![(PartKey::Timer(1), Some(vec![1]))];
    let writes = [
        head(1, "changed"),
        parts(1, part),
        events(1, vec![fragment(1, 1)]),
        crate::writing::wake(change(1), 100),
        crate::writing::wake(head(1, "changed"), 100),
        current(change(1)),
        change(1),
    ];
    for write in writes {
        let problem = owner.conflict(write);
        assert!(problem.contains("no run 1"), "{problem}");
    }
    assert!(crate::wakes::all(store).is_empty());
}

pub(crate) fn reset_run_begins_in_its_ancestors_branch(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(current(new_run(1, "order")));
    owner.commit(current(reset_run(2, "order", &[1])));
    owner.commit(current(reset_run(3, "order", &[1, 2])));
    let run = load(store, "order").unwrap();
    assert_eq!(run.key.0, 3);
    assert_eq!(run.first_fragment, fragment(1, 2));
}

pub(crate) fn first_branch_must_be_an_ancestor(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    owner.commit(new_run(1, "order"));
    let mut write = reset_run(2, "order", &[1]);
    write.created.as_mut().unwrap().ancestors.clear();
    let problem = owner.conflict(write);
    assert!(problem.contains("branch 1"), "{problem}");
}
