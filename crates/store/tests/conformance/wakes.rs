//! Stored wake-ups.

use perennial_engine::{RunKey, Slot, Time};
use perennial_store::{Store, Wake};

use crate::writing::{NAMESPACE, Owner, change, head, new_run, run_id, wake};

/// Every wake-up there is: when, and of which run.
pub(crate) fn all(store: &dyn Store) -> Vec<(i64, i64)> {
    let start = (Time(i64::MIN), RunKey(i64::MIN));
    let wakes = store.wakes(start, Time(i64::MAX), usize::MAX).unwrap();
    wakes.iter().map(|wake| (wake.at.0, wake.run.0)).collect()
}

pub(crate) fn wakes_come_by_time_then_by_run(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    let at = [(4, 300), (1, 200), (3, 100), (2, 200)];
    owner.commit(at.map(|(key, at)| wake(new_run(key, "order"), at)).to_vec());
    owner.commit(new_run(5, "sleeps without end"));
    assert_eq!(all(store), [(100, 3), (200, 1), (200, 2), (300, 4)]);
    let first = store.wakes((Time(0), RunKey(0)), Time(100), 10).unwrap();
    let expected = Wake {
        at: Time(100),
        run: RunKey(3),
        slot: Slot::of(NAMESPACE, "order"),
        namespace: NAMESPACE,
        workflow_id: "order".to_owned(),
        run_id: run_id(3),
    };
    assert_eq!(first, [expected]);
}

pub(crate) fn wakes_are_paged_without_loss_or_repetition(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
    // Many at the same time, so that pages end between them.
    owner.commit(
        (1..=25).map(|key| wake(new_run(key, "order"), 100 + key / 10)).collect::<Vec<_>>(),
    );
    let whole = all(store);
    assert_eq!(whole.len(), 25);
    for limit in [1, 3, 7, 25, 100] {
        let mut after = (Time(0), RunKey(0));
        let mut paged = Vec::new();
        loop {
            let page = store.wakes(after, Time(102), limit).unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = (last.at, last.run);
            paged.extend(page.iter().map(|wake| (wake.at.0, wake.run.0)));
        }
        assert_eq!(paged, whole, "in pages of {limit}");
    }
    assert!(store.wakes((Time(0), RunKey(0)), Time(102), 0).unwrap().is_empty());
    assert!(store.wakes((Time(0), RunKey(0)), Time(99), 10).unwrap().is_empty());
    assert!(store.wakes((Time(103), RunKey(0)), Time(102), 10).unwrap().is_empty());
}

pub(crate) fn wake_is_moved_kept_and_removed(store: &dyn Store) {
    let mut owner = Owner::of(store, 0);
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
    let mut owner = Owner::of(store, 0);
    owner.commit(vec![wake(new_run(1, "order"), -5), wake(new_run(2, "order"), i64::MAX)]);
    assert_eq!(all(store), [(-5, 1), (i64::MAX, 2)]);
}
