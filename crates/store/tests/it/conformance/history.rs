//! Ranges of history.

use perennial_engine::EntityKey;
use perennial_store::{HistoryRange, Store};

use crate::writing::{Owner, current, events, fragment, new_run};

/// Events 1–2, 3–3, 4–7 and 8–9 of run 5, between neighbours.
fn write_history(store: &dyn Store) -> Owner<'_> {
    let mut owner = Owner::first(store);
    owner.commit(vec![new_run(4, "before"), current(new_run(5, "order")), new_run(6, "after")]);
    owner.commit(events(5, vec![fragment(3, 3)]));
    owner.commit(vec![
        events(5, vec![fragment(4, 7), fragment(8, 9)]),
        events(6, vec![fragment(3, 9)]),
    ]);
    owner
}

/// The fragments' own bytes, which name their events.
fn read(
    store: &dyn Store,
    branch: i64,
    events: (i64, i64),
    max_bytes: usize,
    reverse: bool,
) -> String {
    let range = HistoryRange {
        branch: EntityKey(branch),
        first_event_id: events.0,
        last_event_id: events.1,
    };
    let fragments = store.history(range, max_bytes, reverse).unwrap();
    for fragment in &fragments {
        assert_eq!(
            *fragment,
            crate::writing::fragment(fragment.first_event_id, fragment.last_event_id)
        );
    }
    let texts: Vec<_> =
        fragments.iter().map(|fragment| String::from_utf8_lossy(&fragment.bytes)).collect();
    texts.join(" ")
}

pub(crate) fn range_gives_the_fragments_that_hold_its_events(store: &dyn Store) {
    write_history(store);
    let cases = [
        ((1, 9), "1-2 3-3 4-7 8-9"),
        ((i64::MIN, i64::MAX), "1-2 3-3 4-7 8-9"),
        ((1, 1), "1-2"),
        ((2, 3), "1-2 3-3"),
        ((3, 3), "3-3"),
        ((5, 6), "4-7"),
        ((5, 8), "4-7 8-9"),
        ((9, 100), "8-9"),
    ];
    for (events, expected) in cases {
        assert_eq!(read(store, 5, events, usize::MAX, false), expected, "{events:?}");
    }
}

pub(crate) fn fragments_come_in_reverse_from_the_end(store: &dyn Store) {
    write_history(store);
    let cases = [
        ((1, 9), "8-9 4-7 3-3 1-2"),
        ((0, i64::MAX), "8-9 4-7 3-3 1-2"),
        ((2, 3), "3-3 1-2"),
        ((5, 6), "4-7"),
        ((5, 8), "8-9 4-7"),
    ];
    for (events, expected) in cases {
        assert_eq!(read(store, 5, events, usize::MAX, true), expected, "{events:?}");
    }
}

pub(crate) fn bytes_bound_the_fragments_but_one_always_comes(store: &dyn Store) {
    write_history(store);
    // Each fragment has three bytes.
    let cases = [(0, "1-2"), (3, "1-2"), (5, "1-2"), (6, "1-2 3-3"), (11, "1-2 3-3 4-7")];
    for (max_bytes, expected) in cases {
        assert_eq!(read(store, 5, (1, 9), max_bytes, false), expected, "{max_bytes} bytes");
    }
    assert_eq!(read(store, 5, (1, 9), 6, true), "8-9 4-7");
    assert_eq!(read(store, 5, (1, 9), 1, true), "8-9");
}

pub(crate) fn empty_and_foreign_ranges_hold_nothing(store: &dyn Store) {
    write_history(store);
    for reverse in [false, true] {
        assert_eq!(read(store, 5, (10, 20), usize::MAX, reverse), "");
        assert_eq!(read(store, 5, (-5, 0), usize::MAX, reverse), "");
        assert_eq!(read(store, 5, (6, 5), usize::MAX, reverse), "");
        assert_eq!(read(store, 7, (1, 9), usize::MAX, reverse), "");
        assert_eq!(read(store, 4, (1, 9), usize::MAX, reverse), "1-2");
    }
}

pub(crate) fn event_is_added_once(store: &dyn Store) {
    let mut owner = write_history(store);
    let problem = owner.conflict(events(5, vec![fragment(10, 10), fragment(4, 4)]));
    assert!(problem.contains("event 4 already"), "{problem}");
    assert_eq!(read(store, 5, (4, 100), usize::MAX, false), "4-7 8-9");
}

pub(crate) fn fragment_must_be_a_range(store: &dyn Store) {
    let mut owner = write_history(store);
    for (first, last) in [(0, 1), (11, 10), (-1, -1)] {
        let problem = owner.conflict(events(5, vec![fragment(first, last)]));
        assert!(problem.contains("no range of events"), "{problem}");
    }
}
