//! Compares databases with a store in memory: after any commits, both hold the same.

use std::collections::BTreeMap;
use std::ops::Range;

use perennial_engine::{
    EntityId, EntityKey, EntityRef, NamespaceKey, RunPart, SchedulePart, Slot, SlotRange, Time,
};
use perennial_store::visibility::{Attributes, Query};
use perennial_store::{
    Batch, CellId, EntityWrite, Epoch, Error, HistoryRange, Listed, Log, LogLine, MemoryStore,
    MessageWrite, RecordKind, SqliteStore, Store, TaskRow, TaskWrite,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::backends::{Backend, Postgres};
use super::lists::{closed, listed, shown as shown_as};
use super::records::record;
use crate::writing::{
    NAMESPACE, change, change_schedule, delete, delete_schedule, divide_in_two, fragment, new_run,
    new_schedule, reset_run, run_id, try_load,
};

/// Few keys, so that many writes have the same.
const KEYS: Range<i64> = 3..9;
/// Keys of schedules: none of a run, some smaller, some greater.
const SCHEDULE_KEYS: [i64; 4] = [1, 2, 9, 10];
const LOGS: [Log; 3] = [Log::Audit, Log::Ledger, Log::ManualLedger];
pub(crate) const WORKFLOWS: [&str; 3] = ["", "order", "\u{1}"];
const CELLS: u32 = 2;

#[derive(Debug, Clone)]
enum Step {
    /// The owner of a cell is replaced.
    Lease(CellId),
    Commit(Vec<Batch>),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_holds_what_memory_holds(steps in vec(step(), 1..30)) {
        holds_what_memory_holds(steps, &SqliteStore::in_memory().unwrap())?;
    }
}

proptest! {
    // Each comparison is hundreds of round trips.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn postgres_holds_what_memory_holds(steps in vec(step(), 1..20)) {
        holds_what_memory_holds(steps, Postgres::fresh().store())?;
    }
}

fn holds_what_memory_holds(steps: Vec<Step>, store: &dyn Store) -> Result<(), TestCaseError> {
    let memory = MemoryStore::new();
    divide_in_two(&memory);
    divide_in_two(store);
    let mut sequences = BTreeMap::new();
    for step in steps {
        match step {
            Step::Lease(cell) => {
                sequences.insert(cell, 0);
                let [expected, lease]: [&dyn Store; 2] = [&memory, store];
                let [expected, lease] = [expected, lease].map(|it| it.lease(cell, "test"));
                prop_assert_eq!(lease.unwrap(), expected.unwrap());
            }
            Step::Commit(mut batches) => {
                let mut last = sequences.clone();
                number(&mut last, &mut batches);
                let (result, expected) = (store.commit(&batches), memory.commit(&batches));
                prop_assert_eq!(kind(&result), kind(&expected), "{:?} {:?}", result, expected);
                if result.is_ok() {
                    sequences = last;
                }
            }
        }
        let seen = describe_all(store, KEYS, &SCHEDULE_KEYS);
        prop_assert_eq!(seen, describe_all(&memory, KEYS, &SCHEDULE_KEYS));
    }
    Ok(())
}

/// Gives most batches the number that follows; those with an odd number keep it.
fn number(last: &mut BTreeMap<CellId, u64>, batches: &mut [Batch]) {
    for batch in batches.iter_mut() {
        let last = last.entry(batch.cell).or_default();
        if batch.sequence == 0 {
            batch.sequence = *last + 1;
        }
        *last = batch.sequence;
    }
}

pub(crate) fn kind(result: &Result<(), Error>) -> &'static str {
    match result {
        Ok(()) => "good",
        Err(Error::Fenced(_)) => "fenced",
        Err(Error::Conflict(_)) => "conflict",
        Err(Error::Unavailable(_)) => "unavailable",
        Err(Error::Full(_)) => "full",
        Err(Error::Corrupt(_)) => "corrupt",
    }
}

/// Everything that a store holds of these runs and schedules, as text.
pub(crate) fn describe_all(store: &dyn Store, runs: Range<i64>, schedules: &[i64]) -> String {
    let mut text = Vec::new();
    for namespace in [NAMESPACE, NamespaceKey(2)] {
        for workflow in WORKFLOWS {
            let run_ids = std::iter::once(String::new()).chain(runs.clone().map(run_id));
            for run_id in run_ids {
                let run = try_load(store, EntityRef::run(namespace, workflow, &run_id));
                text.push(format!("{:?}", with_error_kind(run)));
            }
        }
    }
    text.push(format!("{:?}", store.cells()));
    for key in runs.clone().map(EntityKey) {
        text.push(format!("{:?}", with_error_kind(store.load_by_keys(&[key]))));
    }
    for branch in runs.map(EntityKey) {
        for (first_event_id, last_event_id) in [(1, i64::MAX), (2, 3), (4, 4)] {
            let range = HistoryRange { branch, first_event_id, last_event_id };
            for (max_bytes, reverse) in
                [(usize::MAX, false), (usize::MAX, true), (5, false), (5, true)]
            {
                text.push(format!("{:?}", store.history(range, max_bytes, reverse)));
            }
        }
    }
    for namespace in [NAMESPACE, NamespaceKey(2)] {
        for id in WORKFLOWS {
            let schedule = EntityRef::current(EntityId::schedule(namespace, id));
            text.push(format!("{:?}", with_error_kind(try_load(store, schedule))));
        }
    }
    let keys: Vec<_> = schedules.iter().copied().map(EntityKey).collect();
    text.push(format!("{:?}", with_error_kind(store.load_by_keys(&keys))));
    for (key, log) in keys.iter().flat_map(|key| LOGS.map(|log| (*key, log))) {
        for (positions, limit, reverse) in
            [((i64::MIN, i64::MAX), 100, false), ((-1, 1), 2, false), ((-1, 1), 2, true)]
        {
            let lines = store.log(key, log, positions, limit, reverse);
            text.push(format!("{lines:?}"));
        }
    }
    text.push(format!(
        "{:?}",
        store.wakes(SlotRange::ALL, (Time(i64::MIN), EntityKey(0)), Time(i64::MAX), 100)
    ));
    text.push(format!("{:?}", store.wakes(SlotRange::ALL, (Time(2), EntityKey(5)), Time(3), 2)));
    text.push(format!("{:?}", store.wakes(SlotRange::ALL, (Time(3), EntityKey(9)), Time(4), 2)));
    text.push(format!("{:?}", store.tasks(SlotRange::ALL, i64::MIN, 100)));
    text.push(format!("{:?}", store.messages(SlotRange::ALL, 2, 2)));
    for slots in SlotRange::divided(3) {
        text.push(format!("{:?}", store.wakes(slots, (Time(2), EntityKey(5)), Time(4), 2)));
        text.push(format!("{:?}", store.tasks(slots, 1, 2)));
        text.push(format!("{:?}", store.messages(slots, 1, 2)));
    }
    text.push(format!("{:?}", store.records(RecordKind::Cluster, "", "", 100)));
    text.push(format!("{:?}", store.records(RecordKind::Cluster, "a", "a", 2)));
    for filter in [
        "",
        "ExecutionStatus = 'Running'",
        "CloseTime > '1970-01-01T00:00:09Z' GROUP BY ExecutionStatus",
    ] {
        let query = Query::parse(filter, &Attributes::builtin()).unwrap();
        let page = store.list(NAMESPACE, &query, 2, None).unwrap();
        let next = store.list(NAMESPACE, &query, 100, page.next.as_ref());
        text.push(format!("{page:?} {next:?} {:?}", store.count(NAMESPACE, &query)));
    }
    text.join("\n")
}

/// The same, with the kind of the error: texts differ between backends.
pub(crate) fn with_error_kind<T>(result: Result<T, Error>) -> Result<T, &'static str> {
    result.map_err(|error| kind(&Err(error)))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => cell().prop_map(Step::Lease),
        6 => vec(batch(), 1..3).prop_map(Step::Commit),
    ]
}

fn batch() -> impl Strategy<Value = Batch> {
    let sequence = prop_oneof![20 => Just(0), 1 => 1..5_u64];
    let writes = (
        vec(prop_oneof![4 => run(), 3 => schedule()], 0..6),
        vec(task(), 0..2),
        vec(message(), 0..2),
        vec((name(), any::<bool>()), 0..2),
    );
    // Epoch 1 is of the cells that nobody has leased yet; leases begin with 2.
    (cell(), 2..5_i64, sequence, writes).prop_map(|(cell, epoch, sequence, writes)| {
        let (entities, tasks, messages, records) = writes;
        let records = records
            .into_iter()
            .map(|(key, put)| record(RecordKind::Cluster, &key, put.then_some("value")))
            .collect();
        let epoch = Epoch(epoch);
        Batch { cell, epoch, sequence, entities, tasks, messages, records }
    })
}

fn cell() -> impl Strategy<Value = CellId> {
    (0..CELLS).prop_map(|index| CellId(SlotRange::divided(CELLS)[index as usize].first()))
}

fn slot() -> impl Strategy<Value = Slot> {
    prop_oneof![Just(Slot(3)), Just(Slot(Slot::COUNT / 2)), Just(Slot(Slot::COUNT - 1))]
}

fn run() -> impl Strategy<Value = EntityWrite> {
    prop_oneof![
        3 => (KEYS, workflow()).prop_map(|(key, workflow)| new_run(key, workflow)),
        2 => (KEYS, workflow(), vec(KEYS, 1..3))
            .prop_map(|(key, workflow, ancestors)| reset_run(key, workflow, &ancestors)),
        2 => KEYS.prop_map(delete),
        5 => changed(),
    ]
    .prop_flat_map(|write| {
        let becomes_current =
            if write.deleted { Just(false).boxed() } else { any::<bool>().boxed() };
        becomes_current
            .prop_map(move |becomes_current| EntityWrite { becomes_current, ..write.clone() })
    })
}

fn changed() -> impl Strategy<Value = EntityWrite> {
    let head = proptest::option::of(vec(any::<u8>(), 0..3));
    let wake_at = proptest::option::of((0..5_i64).prop_map(Time));
    let part = prop_oneof![
        (1..4_i64).prop_map(RunPart::Timer),
        (1..4_i64).prop_map(RunPart::Activity),
        name().prop_map(RunPart::Request),
    ]
    .prop_map(|part| part.row_id());
    let parts = vec((part, proptest::option::of(vec(any::<u8>(), 0..3))), 0..3);
    // Fragments of a branch don't overlap.
    let events = (0..4_i64, 0..2_i64).prop_map(|(n, more)| fragment(2 * n + 1, 2 * n + 1 + more));
    let history = proptest::option::weighted(0.3, events);
    let shown = proptest::option::weighted(0.3, proptest::option::of(8..11_i64));
    (KEYS, head, wake_at, parts, history, shown, any::<bool>()).prop_map(
        |(key, head, wake_at, parts, history, shown, only_closes)| {
            let write = EntityWrite {
                head,
                wake_at,
                parts,
                history: history.into_iter().collect(),
                ..change(key)
            };
            match shown.map(|closed_at| listed(key, "order", closed_at)) {
                None => write,
                Some(row) if only_closes => closed(write, row),
                Some(row) => shown_as(write, row),
            }
        },
    )
}

fn schedule() -> impl Strategy<Value = EntityWrite> {
    prop_oneof![
        3 => (schedule_key(), workflow()).prop_map(|(key, id)| new_schedule(key, id)),
        1 => schedule_key().prop_map(delete_schedule),
        5 => changed_schedule(),
    ]
}

fn changed_schedule() -> impl Strategy<Value = EntityWrite> {
    let head = proptest::option::of(vec(any::<u8>(), 0..3));
    let wake_at = proptest::option::of((0..5_i64).prop_map(Time));
    let part = prop_oneof![
        Just(SchedulePart::Config),
        Just(SchedulePart::LastOutcome),
        name().prop_map(SchedulePart::Running),
        (0..3_i64).prop_map(SchedulePart::Buffered),
        (0..3_i64).prop_map(SchedulePart::Ahead),
    ]
    .prop_map(|part| part.row_id());
    let parts = vec((part, proptest::option::of(vec(any::<u8>(), 0..3))), 0..3);
    let line = (0..LOGS.len(), -2..3_i64, vec(any::<u8>(), 0..3))
        .prop_map(|(log, position, value)| LogLine { log: LOGS[log], position, value });
    let shown = proptest::option::weighted(0.3, proptest::option::of(8..11_i64));
    (schedule_key(), head, wake_at, parts, vec(line, 0..3), shown).prop_map(
        |(key, head, wake_at, parts, log, shown)| EntityWrite {
            head,
            wake_at,
            parts,
            log,
            visibility: shown
                .map(|closed_at| Listed::Row(Box::new(listed(key, "nightly", closed_at)))),
            ..change_schedule(key)
        },
    )
}

fn schedule_key() -> impl Strategy<Value = i64> {
    (0..SCHEDULE_KEYS.len()).prop_map(|index| SCHEDULE_KEYS[index])
}

fn task() -> impl Strategy<Value = TaskWrite> {
    (0..5_i64, slot(), proptest::option::of(vec(any::<u8>(), 0..3))).prop_map(
        |(key, slot, value)| match value {
            Some(value) => TaskWrite::Put(TaskRow { key, slot, value }),
            None => TaskWrite::Delete(key),
        },
    )
}

fn message() -> impl Strategy<Value = MessageWrite> {
    (0..5_i64, slot(), proptest::option::of(vec(any::<u8>(), 0..3))).prop_map(
        |(key, slot, value)| match value {
            Some(value) => MessageWrite::Put { key, slot, value },
            None => MessageWrite::Delete(key),
        },
    )
}

fn workflow() -> impl Strategy<Value = &'static str> {
    (0..WORKFLOWS.len()).prop_map(|index| WORKFLOWS[index])
}

fn name() -> impl Strategy<Value = String> {
    "[a\u{1}é]{1,3}"
}
