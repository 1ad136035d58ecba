//! Lines of the logs of schedules.

use perennial_engine::EntityKey;
use perennial_store::{EntityWrite, Log, LogLine, Store};

use crate::writing::{Owner, change_schedule, new_schedule};

const EVERYWHERE: (i64, i64) = (i64::MIN, i64::MAX);

pub(crate) fn line(log: Log, position: i64, value: &str) -> LogLine {
    LogLine { log, position, value: value.as_bytes().to_vec() }
}

/// The lines of a log as `position value`.
pub(crate) fn read(
    store: &dyn Store,
    key: i64,
    log: Log,
    positions: (i64, i64),
    limit: usize,
    reverse: bool,
) -> String {
    let lines = store.log(EntityKey(key), log, positions, limit, reverse).unwrap();
    assert!(lines.iter().all(|line| line.log == log));
    let text =
        |line: &LogLine| format!("{} {}", line.position, String::from_utf8_lossy(&line.value));
    lines.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn write(key: i64, log: Vec<LogLine>) -> EntityWrite {
    EntityWrite { log, ..change_schedule(key) }
}

/// Schedule 5 with four lines in its ledger, between neighbours.
fn write_ledger(store: &dyn Store) -> Owner<'_> {
    let mut owner = Owner::first(store);
    owner.commit([4, 5, 6].map(|key| new_schedule(key, "nightly")).to_vec());
    let ledger = |position, value| line(Log::Ledger, position, value);
    owner.commit(vec![
        write(4, vec![ledger(20, "of 4")]),
        write(5, vec![ledger(300, "d"), ledger(-10, "a")]),
        write(6, vec![ledger(20, "of 6")]),
    ]);
    owner.commit(write(5, vec![ledger(20, "c"), ledger(0, "b")]));
    owner
}

pub(crate) fn lines_come_in_the_order_of_their_positions(store: &dyn Store) {
    write_ledger(store);
    let all = |reverse| read(store, 5, Log::Ledger, EVERYWHERE, usize::MAX, reverse);
    assert_eq!(all(false), "-10 a, 0 b, 20 c, 300 d");
    assert_eq!(all(true), "300 d, 20 c, 0 b, -10 a");
}

pub(crate) fn lines_are_read_by_range(store: &dyn Store) {
    write_ledger(store);
    let cases = [
        ((0, 20), "0 b, 20 c", "20 c, 0 b"),
        ((1, 300), "20 c, 300 d", "300 d, 20 c"),
        ((20, 20), "20 c", "20 c"),
        ((21, 299), "", ""),
        ((20, 0), "", ""),
    ];
    for (positions, forwards, backwards) in cases {
        let read = |reverse| read(store, 5, Log::Ledger, positions, 10, reverse);
        assert_eq!((read(false), read(true)), (forwards.into(), backwards.into()), "{positions:?}");
    }
}

pub(crate) fn lines_are_limited_from_either_end(store: &dyn Store) {
    write_ledger(store);
    let first = |limit| read(store, 5, Log::Ledger, (-5, 1_000), limit, false);
    assert_eq!([0, 1, 2].map(first), ["", "0 b", "0 b, 20 c"]);
    let last = |limit| read(store, 5, Log::Ledger, (-5, 1_000), limit, true);
    assert_eq!([0, 1, 2].map(last), ["", "300 d", "300 d, 20 c"]);
}

pub(crate) fn line_of_the_same_position_is_replaced(store: &dyn Store) {
    let mut owner = write_ledger(store);
    let ledger = |value| line(Log::Ledger, 20, value);
    owner.commit(write(5, vec![ledger("again"), ledger("and again")]));
    let all = read(store, 5, Log::Ledger, EVERYWHERE, 10, false);
    assert_eq!(all, "-10 a, 0 b, 20 and again, 300 d");
}

pub(crate) fn logs_and_schedules_have_their_own_lines(store: &dyn Store) {
    let mut owner = write_ledger(store);
    let lines = vec![line(Log::Audit, 20, "audit"), line(Log::ManualLedger, 20, "manual")];
    owner.commit(write(5, lines));
    let read = |key, log| read(store, key, log, EVERYWHERE, 10, false);
    assert_eq!(read(5, Log::Ledger), "-10 a, 0 b, 20 c, 300 d");
    assert_eq!(read(5, Log::Audit), "20 audit");
    assert_eq!(read(5, Log::ManualLedger), "20 manual");
    assert_eq!((read(4, Log::Ledger), read(6, Log::Ledger)), ("20 of 4".into(), "20 of 6".into()));
    assert_eq!((read(4, Log::Audit), read(7, Log::Ledger)), (String::new(), String::new()));
}
