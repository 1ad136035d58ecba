//! Nodes and conditional ownership, by a clock that stands still until it is set.

use std::time::Duration;

use perennial_engine::{SlotRange, Span, Time};

use super::MemoryStore;
use super::disk::Disk;
use crate::cluster::FORGOTTEN_AFTER;
use crate::{
    CellId, ClusterStore, ClusterView, Epoch, Error, Lease, NodeRegistration, StoredCell,
    StoredNode, check,
};

/// A node's row.
#[derive(Debug, Clone)]
pub(super) struct NodeRow {
    registration: NodeRegistration,
    lease_ends_at: Time,
}

impl ClusterStore for MemoryStore {
    fn renew_node(&self, node: &NodeRegistration, lease: Duration) -> Result<ClusterView, Error> {
        check::check_node(node)?;
        let mut disk = self.lock();
        disk.renew_node(node, lease);
        Ok(disk.cluster_view())
    }

    fn cluster_view(&self) -> Result<ClusterView, Error> {
        Ok(self.lock().cluster_view())
    }

    fn remove_node(&self, id: &str) -> Result<(), Error> {
        self.lock().remove_node(id);
        Ok(())
    }

    fn take_cell(&self, cell: CellId, node: &str) -> Result<Option<Lease>, Error> {
        let mut disk = self.lock();
        if disk.may_take(cell, node)? { disk.lease(cell, node).map(Some) } else { Ok(None) }
    }

    fn release_cell(&self, cell: CellId, epoch: Epoch) -> Result<bool, Error> {
        Ok(self.lock().release_cell(cell, epoch))
    }

    fn replace_cells(&self, old: &[(CellId, Epoch)], new: &[SlotRange]) -> Result<bool, Error> {
        self.lock().replace_cells(old, new)
    }
}

impl Disk {
    fn renew_node(&mut self, node: &NodeRegistration, lease: Duration) {
        self.undo();
        let registration = node.clone();
        let lease_ends_at = self.now.after(span(lease));
        self.nodes.put(node.id.clone(), NodeRow { registration, lease_ends_at });
        let forgotten: Vec<String> =
            self.nodes.values().filter_map(|row| self.forgets(row)).collect();
        forgotten.iter().for_each(|id| self.nodes.remove(id));
        self.keep();
    }

    /// The node's id, if it ended long ago and owns nothing.
    fn forgets(&self, row: &NodeRow) -> Option<String> {
        let id = &row.registration.id;
        let is_long_ago = row.lease_ends_at.after(span(FORGOTTEN_AFTER)) < self.now;
        let owns_nothing = self.cells.values().all(|cell| cell.owner != *id);
        (is_long_ago && owns_nothing).then(|| id.clone())
    }

    fn cluster_view(&self) -> ClusterView {
        let nodes = self.nodes.values().map(|row| StoredNode {
            registration: row.registration.clone(),
            lease_left: Duration::from_nanos(row.lease_ends_at.since(self.now).0.unsigned_abs()),
        });
        let cells = self.cells.values().cloned().collect();
        ClusterView { now: self.now, nodes: nodes.collect(), cells }
    }

    fn remove_node(&mut self, id: &str) {
        self.undo();
        let owned: Vec<_> = self.cells.values().filter(|cell| cell.owner == id).cloned().collect();
        owned.into_iter().for_each(|cell| self.free(cell));
        self.nodes.remove(&id.to_owned());
        self.keep();
    }

    fn may_take(&self, cell: CellId, node: &str) -> Result<bool, Error> {
        let Some(stored) = self.cells.get(&cell) else {
            return Err(Error::Fenced(format!("there is no cell {cell}")));
        };
        let is_free = stored.owner == node || !self.has_running_lease(&stored.owner);
        Ok(is_free && self.has_running_lease(node))
    }

    fn has_running_lease(&self, node: &str) -> bool {
        self.nodes.get(&node.to_owned()).is_some_and(|row| row.lease_ends_at > self.now)
    }

    fn release_cell(&mut self, cell: CellId, epoch: Epoch) -> bool {
        self.undo();
        let stored = self.cells.get(&cell).filter(|stored| stored.epoch == epoch).cloned();
        let is_released = stored.is_some();
        stored.into_iter().for_each(|stored| self.free(stored));
        self.keep();
        is_released
    }

    fn replace_cells(&mut self, old: &[(CellId, Epoch)], new: &[SlotRange]) -> Result<bool, Error> {
        self.undo();
        let slots = |(cell, epoch): &(CellId, Epoch)| {
            let stored = self.cells.get(cell).filter(|stored| stored.epoch == *epoch)?;
            Some(stored.slots)
        };
        let Some(replaced) = old.iter().map(slots).collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        check::check_same_slots(&replaced, new)?;
        let epoch = self.next_epoch();
        old.iter().for_each(|(cell, _)| self.cells.remove(cell));
        self.put_cells(new, epoch);
        self.keep();
        Ok(true)
    }

    fn free(&mut self, cell: StoredCell) {
        let id = CellId(cell.slots.first());
        self.cells.put(id, StoredCell { owner: String::new(), ..cell });
    }
}

fn span(duration: Duration) -> Span {
    Span(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
