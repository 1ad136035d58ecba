//! Cells: ranges of slots, their owners, and how the slots are divided.

use perennial_engine::{Slot, SlotRange};
use perennial_store::{CellId, Error, Store};

use crate::writing::{Owner, Rows, current, divide_in_two, load, new_run};

/// The slots of each cell, and its owner.
fn owners(store: &dyn Store) -> Vec<(SlotRange, String)> {
    store.cells().unwrap().into_iter().map(|cell| (cell.slots, cell.owner)).collect()
}

fn range(first: u16, last: u16) -> SlotRange {
    SlotRange::new(Slot(first), Slot(last)).unwrap()
}

pub(crate) fn fresh_store_has_one_cell_with_every_slot(store: &dyn Store) {
    assert_eq!(owners(store), [(SlotRange::ALL, String::new())]);
    assert_eq!(store.cells().unwrap()[0].sequence, 0);
    let lease = store.lease(CellId::FIRST, "node a").unwrap();
    assert_eq!((lease.slots, lease.last_batch.sequence), (SlotRange::ALL, 0));
}

pub(crate) fn cell_shows_its_owner_and_its_last_batch(store: &dyn Store) {
    let [first, second] = divide_in_two(store);
    store.lease(first, "node a").unwrap();
    let lease = store.lease(second, "node b").unwrap();
    let halves = SlotRange::divided(2);
    assert_eq!(owners(store), [(halves[0], "node a".to_owned()), (halves[1], "node b".to_owned())]);
    assert_eq!(lease.slots, halves[1]);
    let mut owner = Owner { store, cell: second, epoch: lease.epoch, sequence: 0 };
    owner.commit(Rows::default());
    owner.commit(Rows::default());
    let cells = store.cells().unwrap();
    assert_eq!((cells[1].epoch, cells[1].sequence), (lease.epoch, 2));
    assert_eq!(cells[0].sequence, 0);
    store.lease(second, "node c").unwrap();
    assert_eq!(owners(store)[1].1, "node c");
    assert_eq!(store.cells().unwrap()[1].sequence, 0, "batches are counted anew");
}

pub(crate) fn unknown_cell_isnt_leased(store: &dyn Store) {
    for cell in [1, Slot::COUNT / 2, Slot::COUNT - 1, u16::MAX] {
        let refused = store.lease(CellId(Slot(cell)), "node a");
        assert!(matches!(refused, Err(Error::Fenced(_))), "{refused:?}");
    }
    divide_in_two(store);
    store.lease(CellId(Slot(Slot::COUNT / 2)), "node a").unwrap();
    store.divide(&[SlotRange::ALL]).unwrap();
    let refused = store.lease(CellId(Slot(Slot::COUNT / 2)), "node a");
    assert!(matches!(refused, Err(Error::Fenced(_))), "{refused:?}");
}

pub(crate) fn divide_replaces_the_cells_and_moves_no_rows(store: &dyn Store) {
    Owner::first(store).commit(current(new_run(1, "order")));
    for count in [2, 7, 3, 1] {
        let ranges = SlotRange::divided(count);
        store.divide(&ranges).unwrap();
        let nobody = ranges.into_iter().map(|slots| (slots, String::new()));
        assert_eq!(owners(store), nobody.collect::<Vec<_>>());
        assert!(load(store, "order").is_some());
    }
    let uneven = [range(0, 0), range(1, 9_999), range(10_000, Slot::COUNT - 1)];
    store.divide(&uneven).unwrap();
    assert_eq!(store.lease(CellId(Slot(1)), "node a").unwrap().slots, uneven[1]);
}

pub(crate) fn divide_fences_every_earlier_owner(store: &dyn Store) {
    let cells = divide_in_two(store);
    let owners = cells.map(|cell| Owner::of(store, cell));
    // Of these two cells one is gone and one has other slots; then both are there again.
    for ranges in [SlotRange::divided(1), SlotRange::divided(2)] {
        store.divide(&ranges).unwrap();
        for owner in &owners {
            let refused = store.commit(&[owner.batch(Rows::default())]);
            assert!(matches!(refused, Err(Error::Fenced(_))), "{refused:?}");
        }
    }
    let mut owner = Owner::of(store, cells[1]);
    owner.commit(current(new_run(1, "order")));
    assert!(load(store, "order").is_some());
}

pub(crate) fn divide_gives_epochs_that_were_never_used(store: &dyn Store) {
    let mut greatest = store.cells().unwrap()[0].epoch;
    for count in [2, 1, 5, 2] {
        // The greatest epoch may be of a cell that the next division removes.
        let last = SlotRange::divided(count).last().copied().unwrap();
        store.divide(&SlotRange::divided(count)).unwrap();
        let divided: Vec<_> = store.cells().unwrap().iter().map(|cell| cell.epoch).collect();
        assert!(divided.iter().all(|epoch| *epoch > greatest), "{divided:?} after {greatest:?}");
        let leased = store.lease(CellId(last.first()), "node a").unwrap().epoch;
        assert!(divided.iter().all(|epoch| *epoch < leased), "{leased:?} after {divided:?}");
        greatest = leased;
    }
}

pub(crate) fn divide_refuses_ranges_that_dont_cover_every_slot_once(store: &dyn Store) {
    let mut owner = Owner::first(store);
    let end = Slot::COUNT - 1;
    let before = store.cells().unwrap();
    for ranges in [
        vec![],
        vec![range(0, end - 1)],
        vec![range(1, end)],
        vec![range(0, 5), range(7, end)],
        vec![range(0, 5), range(5, end)],
        vec![range(0, end), range(0, end)],
        vec![range(6, end), range(0, 5)],
    ] {
        let refused = store.divide(&ranges);
        assert!(matches!(refused, Err(Error::Conflict(_))), "{ranges:?}: {refused:?}");
    }
    assert_eq!(store.cells().unwrap(), before);
    owner.commit(Rows::default());
}
