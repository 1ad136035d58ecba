//! Cells that are split and merged while nodes are at work.

use perennial_engine::{Slot, SlotRange};
use perennial_store::{CellId, Epoch, Error, Store};

use super::cluster::cluster;
use crate::writing::{Owner, Rows, current, divide_in_two, load, new_run};

/// The cells as they are to be replaced.
fn cells(store: &dyn Store) -> Vec<(CellId, Epoch)> {
    let cells = store.cells().unwrap();
    cells.iter().map(|cell| (CellId(cell.slots.first()), cell.epoch)).collect()
}

fn range(first: u16, last: u16) -> SlotRange {
    SlotRange::new(Slot(first), Slot(last)).unwrap()
}

fn is_fenced(owner: &mut Owner<'_>) -> bool {
    matches!(owner.try_commit(Rows::default()), Err(Error::Fenced(_)))
}

pub(crate) fn split_cells_get_epochs_that_were_never_used(store: &dyn Store) {
    let [_, second] = divide_in_two(store);
    let mut old = Owner::first(store);
    old.commit(current(new_run(1, "order")));
    let mut bystander = Owner::of(store, second);
    let quarters = [range(0, 4_095), range(4_096, 8_191)];
    assert!(cluster(store).replace_cells(&cells(store)[..1], &quarters).unwrap());

    let stored = store.cells().unwrap();
    assert_eq!(stored.iter().map(|cell| cell.slots).collect::<Vec<_>>()[..2], quarters);
    for cell in &stored[..2] {
        assert_eq!((cell.owner.as_str(), cell.sequence), ("", 0));
        assert!(cell.epoch > bystander.epoch, "{cell:?}");
    }
    assert!(is_fenced(&mut old));
    bystander.commit(Rows::default());
    assert!(load(store, "order").is_some());
    // The next lease of any cell has an epoch above those of the new ones.
    assert!(Owner::of(store, second).epoch > stored[1].epoch);
}

pub(crate) fn merge_fences_the_owners_before(store: &dyn Store) {
    let mut owners = divide_in_two(store).map(|cell| Owner::of(store, cell));
    owners.iter_mut().for_each(|owner| owner.commit(Rows::default()));
    let greatest = owners[1].epoch;
    assert!(cluster(store).replace_cells(&cells(store), &[SlotRange::ALL]).unwrap());
    assert!(owners.iter_mut().all(is_fenced));
    let merged = store.cells().unwrap();
    assert_eq!((merged.len(), merged[0].sequence), (1, 0));
    assert!(merged[0].epoch > greatest);
    Owner::first(store).commit(Rows::default());
}

pub(crate) fn cells_of_another_epoch_are_not_replaced(store: &dyn Store) {
    divide_in_two(store);
    let before = cells(store);
    let mut owner = Owner::first(store);
    let unchanged = store.cells().unwrap();
    assert!(!cluster(store).replace_cells(&before, &[SlotRange::ALL]).unwrap());
    for gone in [1, u16::MAX] {
        let gone = [(CellId(Slot(gone)), Epoch(1))];
        assert!(!cluster(store).replace_cells(&gone, &[range(1, 2)]).unwrap());
    }
    assert_eq!(store.cells().unwrap(), unchanged);
    owner.commit(Rows::default());
}

pub(crate) fn cells_with_other_slots_are_refused(store: &dyn Store) {
    divide_in_two(store);
    let unchanged = store.cells().unwrap();
    let (all, end) = (cells(store), Slot::COUNT - 1);
    let twice = [all[0], all[0]];
    for (old, new) in [
        (&all[..], vec![]),
        (&all[..], vec![range(0, end - 1)]),
        (&all[..], vec![range(0, 5), range(7, end)]),
        (&all[..], vec![range(0, 5), range(5, end)]),
        (&all[..1], vec![SlotRange::ALL]),
        (&all[..1], vec![range(8_192, end)]),
        (&twice[..], vec![range(0, 8_191)]),
        (&[], vec![]),
    ] {
        let refused = cluster(store).replace_cells(old, &new);
        assert!(matches!(refused, Err(Error::Conflict(_))), "{old:?} {new:?}: {refused:?}");
    }
    assert_eq!(store.cells().unwrap(), unchanged);
}

pub(crate) fn cells_are_given_in_any_order(store: &dyn Store) {
    divide_in_two(store);
    let mut old = cells(store);
    old.reverse();
    let thirds = [range(9_000, Slot::COUNT - 1), range(0, 99), range(100, 8_999)];
    assert!(cluster(store).replace_cells(&old, &thirds).unwrap());
    let slots: Vec<_> = store.cells().unwrap().iter().map(|cell| cell.slots).collect();
    assert_eq!(slots, [thirds[1], thirds[2], thirds[0]]);
}
