//! `DescribeCluster`: the nodes that share the database, and who of them owns which cells.

use std::collections::{HashMap, HashSet};

use perennial_engine::Span;
use perennial_proto::perennial::{
    ClusterCell, ClusterCellState, ClusterNode, DescribeClusterRequest, DescribeClusterResponse,
};
use perennial_store::{ClusterView, NodeRegistration, StoredCell, StoredNode};

use crate::admin::AdminCall;
use crate::errors::{RpcResult, refused};

impl AdminCall<'_> {
    /// Describes the cluster, as the database has it now.
    pub(crate) async fn describe_cluster(
        &self,
        _: DescribeClusterRequest,
    ) -> RpcResult<DescribeClusterResponse> {
        let runtime = self.0.runtime();
        let view = runtime.cluster_view().await.map_err(refused)?;
        Ok(view.map(|view| described(view, runtime.node_id())).unwrap_or_default())
    }
}

fn described(view: ClusterView, this_node: &str) -> DescribeClusterResponse {
    let ClusterView { now, nodes, cells } = view;
    let live = nodes.iter().filter(|node| !node.lease_left.is_zero());
    let live: HashSet<String> = live.map(|node| node.registration.id.clone()).collect();
    let mut cells_of: HashMap<String, u32> = HashMap::new();
    for cell in &cells {
        *cells_of.entry(cell.owner.clone()).or_default() += 1;
    }
    let node = |node: StoredNode| {
        let cells = cells_of.get(&node.registration.id).copied().unwrap_or(0);
        described_node(node, cells, this_node)
    };
    DescribeClusterResponse {
        nodes: nodes.into_iter().map(node).collect(),
        cells: cells.into_iter().map(|cell| described_cell(cell, &live)).collect(),
        time: Some(now.into()),
    }
}

fn described_node(node: StoredNode, cells: u32, this_node: &str) -> ClusterNode {
    let StoredNode { registration, lease_left } = node;
    let NodeRegistration { id, address, protocol, version, is_leaving, started_at, .. } =
        registration;
    let lease_left = Span(i64::try_from(lease_left.as_nanos()).unwrap_or(i64::MAX));
    ClusterNode {
        is_this_node: id == this_node,
        id,
        address,
        version,
        protocol,
        started_at: Some(started_at.into()),
        lease_left: Some(lease_left.into()),
        is_leaving,
        cells,
    }
}

fn described_cell(cell: StoredCell, live_nodes: &HashSet<String>) -> ClusterCell {
    let StoredCell { slots, owner, epoch, sequence } = cell;
    let state = match owner.as_str() {
        "" => ClusterCellState::Unowned,
        owner if live_nodes.contains(owner) => ClusterCellState::Owned,
        _ => ClusterCellState::LeaseEnded,
    };
    ClusterCell {
        first_slot: slots.first().0.into(),
        last_slot: slots.last().0.into(),
        owner,
        epoch: epoch.0,
        last_batch: sequence,
        state: state.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use perennial_engine::{SlotRange, Time};
    use perennial_store::Epoch;

    use super::*;

    fn node(id: &str, lease_left: Duration) -> StoredNode {
        let registration = NodeRegistration {
            id: id.to_owned(),
            address: format!("{id}:7235"),
            protocol: 1,
            oldest_protocol: 1,
            version: "1.0.0".to_owned(),
            is_leaving: false,
            started_at: Time(0),
        };
        StoredNode { registration, lease_left }
    }

    #[test]
    fn cell_is_owned_only_while_the_lease_of_its_owner_runs() {
        let owners = ["live", "ended", "removed", ""];
        let cells = SlotRange::divided(4).into_iter().zip(owners).map(|(slots, owner)| {
            StoredCell { slots, owner: owner.to_owned(), epoch: Epoch(7), sequence: 3 }
        });
        let view = ClusterView {
            now: Time(1_000_000_000),
            nodes: vec![node("ended", Duration::ZERO), node("live", Duration::from_millis(2_500))],
            cells: cells.collect(),
        };
        let cluster = described(view, "live");
        let states: Vec<_> = cluster.cells.iter().map(ClusterCell::state).collect();
        let ended = ClusterCellState::LeaseEnded;
        let expected = [ClusterCellState::Owned, ended, ended, ClusterCellState::Unowned];
        assert_eq!(states, expected);
        let slots = |cell: &ClusterCell| (cell.first_slot, cell.last_slot);
        assert_eq!(cluster.cells.first().map(slots), Some((0, 4_095)));
        assert_eq!(cluster.cells.last().map(slots), Some((12_288, 16_383)));
        let [gone, this] = cluster.nodes.as_slice() else { panic!("{:?}", cluster.nodes) };
        assert_eq!((gone.is_this_node, gone.cells), (false, 1));
        assert_eq!((this.is_this_node, this.cells), (true, 1));
        let left = this.lease_left.unwrap();
        assert_eq!((left.seconds, left.nanos), (2, 500_000_000));
    }
}
