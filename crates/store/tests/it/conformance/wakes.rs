//! Stored wake-ups.

use perennial_engine::{EntityId, EntityKey, EntityRef, Slot, SlotRange, Time};
use perennial_store::{EntityWrite, Store, Wake};

use crate::writing::{
    NAMESPACE, Owner, change, change_schedule, head, new_run, new_schedule, run_id, wake,
};

/// Every wake-up there is: when, and of which run or schedule.
pub(crate) fn all(store: &dyn Store) -> Vec<(i64, i64)> {
    let start = (Time(i64::MIN), EntityKey(i64::MIN));
    let wakes = store.wakes(SlotRange::ALL, start, Time(i64::MAX), usize::MAX).unwrap();
    wakes.iter().map(|wake| (wake.at.0, wake.key.0)).collect()
}

/// The same, page by page.
fn paged(store: &dyn Store, slots: SlotRange, limit: usize) -> Vec<(i64, i64)> {
    let mut after = (Time(i64::MIN), EntityKey(i64::MIN));
    let mut paged = Vec::new();
    loop {
        let page = store.wakes(slots, after, Time(i64::MAX), limit).unwrap();
        assert!(page.iter().all(|wake| slots.contains(wake.entity.id.slot())));
        assert!(page.len() <= limit);
        let Some(last) = page.last() else { return paged };
        assert!((last.at, last.key) > after, "the page goes on after {after:?}");
        after = (last.at, last.key);
        paged.extend(page.iter().map(|wake| (wake.at.0, wake.key.0)));
    }
}

pub(crate) fn wakes_come_by_time_then_by_run(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let at = [(4, 300), (1, 200), (3, 100), (2, 200)];
    owner.commit(at.map(|(key, at)| wake(new_run(key, "order"), at)).to_vec());
    owner.commit(new_run(5, "sleeps without end"));
    assert_eq!(all(store), [(100, 3), (200, 1), (200, 2), (300, 4)]);
    let first = store.wakes(SlotRange::ALL, (Time(0), EntityKey(0)), Time(100), 10).unwrap();
    let expected = Wake {
        at: Time(100),
        key: EntityKey(3),
        entity: EntityRef::run(NAMESPACE, "order", &run_id(3)),
    };
    assert_eq!(first, [expected]);
}

pub(crate) fn wakes_are_paged_without_loss_or_repetition(store: &dyn Store) {
    let mut owner = Owner::first(store);
    // Many at the same time, so that pages end between them.
    owner.commit(
        (1..=25).map(|key| wake(new_run(key, "order"), 100 + key / 10)).collect::<Vec<_>>(),
    );
    let whole = all(store);
    assert_eq!(whole.len(), 25);
    for limit in [1, 3, 7, 25, 100] {
        assert_eq!(paged(store, SlotRange::ALL, limit), whole, "in pages of {limit}");
    }
    assert!(store.wakes(SlotRange::ALL, (Time(0), EntityKey(0)), Time(102), 0).unwrap().is_empty());
    assert!(store.wakes(SlotRange::ALL, (Time(0), EntityKey(0)), Time(99), 10).unwrap().is_empty());
    assert!(
        store.wakes(SlotRange::ALL, (Time(103), EntityKey(0)), Time(102), 10).unwrap().is_empty()
    );
}

pub(crate) fn wake_is_moved_kept_and_removed(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![wake(new_run(1, "order"), 100), wake(new_run(2, "order"), 200)]);
    owner.commit(head(1, "changed"));
    assert_eq!(all(store), [(100, 1), (200, 2)]);
    owner.commit(wake(head(1, "moved"), 300));
    assert_eq!(all(store), [(200, 2), (300, 1)]);
    owner.commit(wake(change(2), 400));
    assert_eq!(all(store), [(300, 1), (400, 2)]);
    owner.commit(vec![wake(change(1), 0), wake(head(2, "awake"), 0)]);
    assert_eq!(all(store), []);
    owner.commit(wake(change(1), 500));
    assert_eq!(all(store), [(500, 1)]);
}

pub(crate) fn times_before_the_epoch_wake_too(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(vec![wake(new_run(1, "order"), -5), wake(new_run(2, "order"), i64::MAX)]);
    assert_eq!(all(store), [(-5, 1), (i64::MAX, 2)]);
}

/// Runs have odd keys and schedules even ones, ten of each; three instants have some of both.
fn runs_and_schedules(store: &dyn Store) -> Owner<'_> {
    let mut owner = Owner::first(store);
    let (odd, even) = ((1..=19).step_by(2), (2..=20).step_by(2));
    let runs = odd.map(|key| wake(new_run(key, "order"), 100 + key % 3));
    let schedules = even.map(|key| wake(new_schedule(key, "nightly"), 100 + key % 3));
    owner.commit(runs.chain(schedules).collect::<Vec<_>>());
    owner
}

pub(crate) fn runs_and_schedules_wake_in_one_order(store: &dyn Store) {
    runs_and_schedules(store);
    let mut expected: Vec<_> = (1..=20).map(|key| (100 + key % 3, key)).collect();
    expected.sort_unstable();
    assert_eq!(all(store), expected);
    let first = store.wakes(SlotRange::ALL, (Time(100), EntityKey(3)), Time(100), 1).unwrap();
    let expected = Wake {
        at: Time(100),
        key: EntityKey(6),
        entity: EntityRef::current(EntityId::schedule(NAMESPACE, "nightly")),
    };
    assert_eq!(first, [expected]);
}

pub(crate) fn page_of_wakes_ends_between_a_run_and_a_schedule_of_one_instant(store: &dyn Store) {
    runs_and_schedules(store);
    let whole = all(store);
    for limit in 1..=21 {
        assert_eq!(paged(store, SlotRange::ALL, limit), whole, "in pages of {limit}");
    }
    let after = |key| {
        let page = store.wakes(SlotRange::ALL, (Time(101), EntityKey(key)), Time(101), 2).unwrap();
        page.iter().map(|wake| wake.key.0).collect::<Vec<_>>()
    };
    assert_eq!(after(7), [10, 13], "after a run");
    assert_eq!(after(10), [13, 16], "after a schedule");
    assert_eq!(after(11), [13, 16], "after one that isn't there");
    assert!(after(19).is_empty());
}

pub(crate) fn wake_of_a_schedule_is_moved_kept_and_removed(store: &dyn Store) {
    let mut owner = Owner::first(store);
    owner.commit(wake(new_schedule(1, "nightly"), 100));
    let head = || EntityWrite { head: Some(b"changed".to_vec()), ..change_schedule(1) };
    owner.commit(head());
    assert_eq!(all(store), [(100, 1)]);
    owner.commit(wake(head(), 300));
    assert_eq!(all(store), [(300, 1)]);
    owner.commit(wake(change_schedule(1), -400));
    assert_eq!(all(store), [(-400, 1)]);
    owner.commit(wake(change_schedule(1), 0));
    assert!(all(store).is_empty());
}

pub(crate) fn wakes_of_other_slots_are_left_out(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let ids: Vec<_> = (1..=40).map(|key| (key, format!("order-{key}"))).collect();
    let new = |(key, id): &(i64, String)| match key % 2 {
        0 => wake(new_run(*key, id), 100 + key % 3),
        _ => wake(new_schedule(*key, id), 100 + key % 3),
    };
    owner.commit(ids.iter().map(new).collect::<Vec<_>>());
    for slots in SlotRange::divided(3) {
        let is_in = |id: &str| slots.contains(Slot::of(NAMESPACE, id));
        let mut expected: Vec<_> =
            ids.iter().filter(|(_, id)| is_in(id)).map(|(key, _)| (100 + key % 3, *key)).collect();
        expected.sort_unstable();
        assert!(!expected.is_empty(), "{slots} has some");
        for limit in [1, 2, 7, 100] {
            assert_eq!(paged(store, slots, limit), expected, "{slots} in pages of {limit}");
        }
    }
}
