//! Runs as they are written and loaded.

use perennial_engine::{EntityKey, EntityRef, NamespaceKey, PartId, RunPart};
use perennial_store::{EntityWrite, Store};

use crate::writing::{
    NAMESPACE, Owner, change, created_run, current, events, fragment, head, load, load_by_id,
    new_run, parts, reset_run, run_id, try_load,
};

pub(crate) fn new_run_is_loaded_whole(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut write = current(new_run(7, "order"));
    write.parts = vec![(RunPart::Activity(5).row_id(), Some(b"activity".to_vec()))];
    write.history = vec![fragment(1, 3), fragment(4, 4)];
    owner.commit(write);
    for run in [load(store, "order").unwrap(), load_by_id(store, "order", 7).unwrap()] {
        assert_eq!(run.key, EntityKey(7));
        assert_eq!(run.head, b"new");
        assert_eq!(run.parts, [(RunPart::Activity(5).row_id(), b"activity".to_vec())]);
        assert_eq!(run.first_fragment, Some(fragment(1, 3)));
        assert!(run.is_current);
    }
}

pub(crate) fn unknown_names_load_nothing(store: &dyn Store) {
    let mut owner = Owner::first(store);
    assert!(load(store, "order").is_none());
    owner.commit(current(new_run(1, "order")));
    assert!(load(store, "orde").is_none());
    assert!(load(store, "ORDER").is_none());
    assert!(load_by_id(store, "order", 2).is_none());
}

pub(crate) fn run_is_found_only_under_its_own_names(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    assert!(load_by_id(store, "invoice", 1).is_none());
    for (namespace, run_id) in
        [(2, run_id(1)), (2, String::new()), (NAMESPACE.0, run_id(1).to_uppercase())]
    {
        let wanted = EntityRef::run(NamespaceKey(namespace), "order", &run_id);
        assert!(try_load(store, wanted).unwrap().is_none(), "{namespace} {run_id}");
    }
}

pub(crate) fn head_changes_alone(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut write = current(new_run(1, "order"));
    write.parts = vec![(RunPart::Timer(5).row_id(), Some(vec![5]))];
    owner.commit(vec![write, current(new_run(2, "invoice"))]);
    owner.commit(head(1, "changed"));
    let run = load(store, "order").unwrap();
    assert_eq!(run.head, b"changed");
    assert_eq!(run.parts.len(), 1);
    assert_eq!(load(store, "invoice").unwrap().head, b"new");
}

pub(crate) fn parts_come_in_the_order_of_their_keys(store: &dyn Store) {
    let mut keys = vec![
        RunPart::Buffered(1).row_id(),
        RunPart::Update("b".into()).row_id(),
        RunPart::Update("a".into()).row_id(),
        RunPart::Request("aa".into()).row_id(),
        RunPart::Request("a".into()).row_id(),
        RunPart::Cancel(3).row_id(),
        RunPart::Signal(3).row_id(),
        RunPart::Child(3).row_id(),
        RunPart::Timer(256).row_id(),
        RunPart::Timer(3).row_id(),
        RunPart::Activity(70_000).row_id(),
        RunPart::Activity(300).row_id(),
        RunPart::Activity(3).row_id(),
    ];
    let mut owner = Owner::first(store);
    let part = |key: &PartId| (key.clone(), Some(format!("{key:?}").into_bytes()));
    owner.commit(vec![current(new_run(1, "order")), current(new_run(2, "invoice"))]);
    owner.commit(parts(1, keys.iter().map(part).collect()));
    owner.commit(parts(2, vec![part(&RunPart::Timer(9).row_id())]));
    keys.sort();
    let run = load(store, "order").unwrap();
    assert_eq!(
        run.parts.iter().map(|(key, _)| key).collect::<Vec<_>>(),
        keys.iter().collect::<Vec<_>>()
    );
    assert!(run.parts.iter().all(|(key, value)| format!("{key:?}").as_bytes() == value));
}

pub(crate) fn parts_are_replaced_and_removed(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut write = current(new_run(1, "order"));
    write.parts = (1..=3).map(|id| (RunPart::Timer(id).row_id(), Some(vec![0]))).collect();
    owner.commit(write);
    owner.commit(parts(
        1,
        vec![
            (RunPart::Timer(1).row_id(), None),
            (RunPart::Timer(2).row_id(), Some(vec![2])),
            (RunPart::Timer(4).row_id(), None),
            (RunPart::Activity(3).row_id(), None),
        ],
    ));
    let run = load(store, "order").unwrap();
    assert_eq!(
        run.parts,
        [(RunPart::Timer(2).row_id(), vec![2]), (RunPart::Timer(3).row_id(), vec![0])]
    );
}

pub(crate) fn current_run_is_the_one_that_became_it_last(store: &dyn Store) {
    let mut owner = Owner::first(store);
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
    let mut owner = Owner::first(store);
    owner.commit(vec![current(new_run(1, "order")), current(new_run(2, "order"))]);
    owner.commit(current(change(1)));
    assert_eq!(load(store, "order").unwrap().key.0, 1);
    assert!(load_by_id(store, "order", 1).unwrap().is_current);
    assert!(!load_by_id(store, "order", 2).unwrap().is_current);
}

pub(crate) fn run_needs_a_uuid_a_head_and_a_first_event(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let whole = current(new_run(1, "order"));
    let mut without_uuid = whole.clone();
    created_run(&mut without_uuid).run_id = "first".to_owned();
    let refused: [(EntityWrite, &str); 4] = [
        (without_uuid, "`first` isn't a UUID"),
        (EntityWrite { head: None, ..whole.clone() }, "without a head"),
        (EntityWrite { history: vec![], ..whole.clone() }, "without its first event"),
        (EntityWrite { history: vec![fragment(2, 3)], ..whole }, "without its first event"),
    ];
    for (write, expected) in refused {
        let problem = owner.conflict(write);
        assert!(problem.contains(expected), "{problem}");
    }
    assert!(load(store, "order").is_none());
}

pub(crate) fn run_is_created_once(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    let mut again = current(new_run(1, "invoice"));
    created_run(&mut again).run_id = run_id(2);
    owner.conflict(again);
    assert!(load(store, "invoice").is_none());
}

pub(crate) fn run_id_is_used_once(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    let mut other = current(new_run(2, "invoice"));
    created_run(&mut other).run_id = run_id(1);
    owner.conflict(other);
    assert!(load(store, "invoice").is_none());
}

pub(crate) fn write_to_an_unknown_run_is_refused(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let part = vec![(RunPart::Timer(1).row_id(), Some(vec![1]))];
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
    assert!(super::wakes::all(store).is_empty());
}

pub(crate) fn reset_run_begins_in_its_ancestors_branch(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    owner.commit(current(reset_run(2, "order", &[1])));
    owner.commit(current(reset_run(3, "order", &[1, 2])));
    let run = load(store, "order").unwrap();
    assert_eq!(run.key.0, 3);
    assert_eq!(run.first_fragment, Some(fragment(1, 2)));
}

pub(crate) fn first_branch_must_be_an_ancestor(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(new_run(1, "order"));
    let mut write = reset_run(2, "order", &[1]);
    created_run(&mut write).ancestors.clear();
    let problem = owner.conflict(write);
    assert!(problem.contains("branch 1"), "{problem}");
}
