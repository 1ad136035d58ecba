//! The cluster, as the server sees it.

use std::time::Duration;

use bytes::Bytes;
use perennial_engine::Slot;
use perennial_peer::{CallError, PeerAnswer, PeerIdentity, PeerTls};
use perennial_store::ClusterView;

use super::Owner;
use crate::{Refusal, Runtime};

/// How long a node that leaves waits for its cells to end.
const LEAVING_TIME_MAX: Duration = Duration::from_secs(10);

/// Where the entities of a slot are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At this node.
    Here,
    /// At another node, as far as this one knows.
    Elsewhere(Owner),
}

impl Runtime {
    /// Whether the node takes part in a cluster.
    pub fn is_clustered(&self) -> bool {
        self.node.cluster.is_some()
    }

    /// Where the entities of a slot are.
    pub fn place_of(&self, slot: Slot) -> Place {
        match &self.node.cluster {
            Some(cluster) if !self.node.owns(slot) => Place::Elsewhere(cluster.owner_of(slot)),
            Some(_) | None => Place::Here,
        }
    }

    /// Waits until nodes or owners may have changed, or for this time.
    pub async fn cluster_changes_within(&self, time: Duration) {
        match &self.node.cluster {
            Some(cluster) => drop(tokio::time::timeout(time, cluster.changed()).await),
            None => tokio::time::sleep(time).await,
        }
    }

    /// The addresses of the other nodes.
    pub fn other_nodes(&self) -> Vec<String> {
        self.node.cluster.as_ref().map_or_else(Vec::new, |cluster| cluster.others())
    }

    /// Calls another node. Dropping the future cancels the call there.
    pub async fn call_node(
        &self,
        address: &str,
        path: &str,
        head: Bytes,
        body: Bytes,
    ) -> Result<PeerAnswer, CallError> {
        match &self.node.cluster {
            Some(cluster) => cluster.call(address, path, head, body).await,
            None => Err(CallError::NotDelivered("this server has no cluster".to_owned())),
        }
    }

    /// By what other nodes know this one. `None` without a cluster.
    pub fn peer_identity(&self) -> Option<(PeerIdentity, Option<PeerTls>)> {
        self.node.cluster.as_ref().map(|cluster| cluster.identity())
    }

    /// All nodes and cells, read from the store; `None` without a cluster.
    pub async fn cluster_view(&self) -> Result<Option<ClusterView>, Refusal> {
        if self.node.cluster.is_none() {
            return Ok(None);
        }
        self.with_store(|store| store.cluster().map(|store| store.cluster_view()).transpose()).await
    }

    /// The node's id in the cluster.
    pub fn node_id(&self) -> &str {
        self.node.cluster.as_ref().map_or("", |cluster| cluster.id())
    }

    /// Looks for free cells now, because another node has given some away.
    pub fn look_for_cells(&self) {
        if let Some(cluster) = &self.node.cluster {
            cluster.look();
        }
    }

    /// Gives all cells away before the node stops. Calls are passed on meanwhile. Blocks.
    pub fn leave_cluster(&self) {
        let Some(cluster) = &self.node.cluster else { return };
        // Nobody takes the cells of the only node: it answers until it stops.
        if cluster.others().is_empty() || self.failure().is_some() {
            return;
        }
        if cluster.leave().recv_timeout(LEAVING_TIME_MAX).is_err() {
            tracing::warn!(
                "some cells couldn't be given away: other nodes take them when the lease ends"
            );
        }
    }

    /// Continues with background work of cells that this node takes, until the node ends.
    pub async fn follow_cells(self) {
        if self.node.cluster.is_none() {
            return;
        }
        loop {
            self.node.cells_taken.notified().await;
            if let Err(refusal) = self.resume_batches().await {
                tracing::error!(
                    "batch jobs of cells that were taken over aren't resumed: {refusal}"
                );
            }
            if let Err(refusal) = self.resume_purges().await {
                tracing::error!("the data of deleted namespaces isn't removed: {refusal}");
            }
        }
    }
}
