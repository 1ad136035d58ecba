//! Lists and counts, as far as they belong to the store: what a query means has its own tests.

use perennial_engine::NamespaceKey;
use perennial_store::visibility::{
    Attributes, Closed, Execution, ExecutionKey, Group, GroupKey, Position, Query, Row, Values,
};
use perennial_store::{EntityWrite, Listed, Store};

use crate::writing::{NAMESPACE, Owner, change, current, delete, head, load, new_run, run_id};

const RUNNING: i32 = 1;
const COMPLETED: i32 = 2;

/// What lists show of run `key`, which started at second `key` and may have closed.
pub(crate) fn listed(key: i64, workflow_id: &str, closed_at: Option<i64>) -> Row {
    const SECOND: i64 = 1_000_000_000;
    // Keys are counted under an epoch.
    let started = key & 0xffff_ffff;
    let root = ExecutionKey { workflow_id: workflow_id.to_owned(), run_id: run_id(key) };
    let closed = closed_at.map(|second| Closed {
        time_nanos: second * SECOND,
        execution_duration_nanos: (second - started) * SECOND,
        history_length: 9,
        history_size_bytes: 900,
        state_transition_count: 4,
    });
    let execution = Execution {
        run_key: key,
        workflow_id: workflow_id.to_owned(),
        run_id: run_id(key),
        workflow_type: "Order".to_owned(),
        task_queue: "orders".to_owned(),
        status: if closed.is_some() { COMPLETED } else { RUNNING },
        start_time_nanos: started * SECOND,
        execution_time_nanos: started * SECOND,
        closed,
        parent: None,
        root,
        memo: b"memo".to_vec(),
        search_attributes: vec![],
    };
    Row { namespace: NAMESPACE.0, execution, values: Values::default() }
}

pub(crate) fn shown(write: EntityWrite, row: Row) -> EntityWrite {
    EntityWrite { visibility: Some(Listed::Row(Box::new(row))), ..write }
}

/// Only that it has closed is new.
pub(crate) fn closed(write: EntityWrite, row: Row) -> EntityWrite {
    let Execution { status, closed, .. } = row.execution;
    EntityWrite { visibility: closed.map(|closed| Listed::Closed { status, closed }), ..write }
}

fn query(text: &str) -> Query {
    Query::parse(text, &Attributes::builtin()).unwrap()
}

pub(crate) fn keys(store: &dyn Store, text: &str) -> Vec<i64> {
    let page = store.list(NAMESPACE, &query(text), 100, None).unwrap();
    assert_eq!(page.next, None);
    page.executions.iter().map(|execution| execution.run_key).collect()
}

/// Runs 1 to 5, of which 2 and 3 have closed, the latter first.
fn five_runs(store: &dyn Store) -> Owner<'_> {
    let mut owner = Owner::first(store);
    let new = |key| shown(current(new_run(key, "order")), listed(key, "order", None));
    owner.commit((1..=5).map(new).collect::<Vec<_>>());
    owner.commit(vec![
        closed(change(3), listed(3, "order", Some(10))),
        shown(head(2, "closed"), listed(2, "order", Some(20))),
    ]);
    owner
}

pub(crate) fn list_shows_a_run_as_it_was_written_last(store: &dyn Store) {
    five_runs(store);
    let page = store.list(NAMESPACE, &query("ExecutionStatus = 'Completed'"), 10, None).unwrap();
    let expected = [listed(2, "order", Some(20)).execution, listed(3, "order", Some(10)).execution];
    assert_eq!(page.executions, expected);
    assert_eq!(keys(store, ""), [5, 4, 1, 2, 3]);
    assert_eq!(keys(store, "ExecutionStatus = 'Running'"), [5, 4, 1]);
    assert!(keys(store, "WorkflowId = 'invoice'").is_empty());
}

pub(crate) fn list_gives_whole_microseconds(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let mut row = listed(1, "order", Some(10));
    row.execution.start_time_nanos += 1_999;
    row.execution.execution_time_nanos = -1;
    row.execution.closed.as_mut().unwrap().time_nanos += 999;
    row.execution.closed.as_mut().unwrap().execution_duration_nanos = 7;
    owner.commit(shown(new_run(1, "order"), row));
    let page = store.list(NAMESPACE, &query(""), 10, None).unwrap();
    let mut expected = listed(1, "order", Some(10)).execution;
    expected.start_time_nanos += 1_000;
    expected.execution_time_nanos = -1_000;
    expected.closed.as_mut().unwrap().execution_duration_nanos = 7;
    assert_eq!(page.executions, [expected]);
}

pub(crate) fn list_is_paged_without_loss_or_repetition(store: &dyn Store) {
    five_runs(store);
    for page_size in 1..=6 {
        let mut paged = Vec::new();
        let mut after: Option<Position> = None;
        loop {
            let page = store.list(NAMESPACE, &query(""), page_size, after.as_ref()).unwrap();
            assert!(page.executions.len() <= page_size);
            paged.extend(page.executions.iter().map(|execution| execution.run_key));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(paged, [5, 4, 1, 2, 3], "in pages of {page_size}");
    }
}

pub(crate) fn count_is_whole_and_split(store: &dyn Store) {
    five_runs(store);
    let count = |text| store.count(NAMESPACE, &query(text)).unwrap();
    let all = count("WorkflowId = 'order'");
    assert_eq!((all.total, all.groups.len()), (5, 0));
    let split = count("GROUP BY ExecutionStatus");
    assert_eq!(split.total, 5);
    let group = |status, count| Group { key: GroupKey::Status(status), count };
    assert_eq!(split.groups, [group(RUNNING, 3), group(COMPLETED, 2)]);
    let divided = count("GROUP BY TemporalNamespaceDivision");
    assert_eq!(divided.groups, [Group { key: GroupKey::Division(None), count: 5 }]);
    assert_eq!(count("WorkflowId = 'invoice'").total, 0);
    assert_eq!(count("WorkflowId = 'invoice' GROUP BY ExecutionStatus").groups, []);
}

pub(crate) fn namespaces_dont_see_each_others_runs(store: &dyn Store) {
    five_runs(store);
    let other = NamespaceKey(2);
    assert!(store.list(other, &query(""), 10, None).unwrap().executions.is_empty());
    assert_eq!(store.count(other, &query("")).unwrap().total, 0);
}

pub(crate) fn deleted_run_leaves_the_lists(store: &dyn Store) {
    let mut owner = five_runs(store);
    owner.commit(vec![delete(2), delete(5)]);
    assert_eq!(keys(store, ""), [4, 1, 3]);
    assert_eq!(store.count(NAMESPACE, &query("")).unwrap().total, 3);
}

pub(crate) fn refused_batch_leaves_the_lists_as_they_were(store: &dyn Store) {
    let mut owner = five_runs(store);
    owner.conflict(vec![
        shown(change(1), listed(1, "order", Some(30))),
        delete(4),
        head(99, "none"),
    ]);
    assert_eq!(keys(store, "ExecutionStatus = 'Running'"), [5, 4, 1]);
}

pub(crate) fn run_is_listed_under_its_own_key(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let problem = owner.conflict(shown(current(new_run(1, "order")), listed(2, "order", None)));
    assert!(problem.contains("lists would show it as 2"), "{problem}");
    assert!(load(store, "order").is_none());
}

pub(crate) fn run_that_was_never_shown_is_not_listed(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(current(new_run(1, "order")));
    assert!(keys(store, "").is_empty());
}
