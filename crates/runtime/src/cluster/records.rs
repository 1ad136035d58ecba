//! Changes to records of the whole cluster: a change is confirmed by every node before it is answered.

use std::sync::Arc;
use std::time::Duration;

use perennial_engine::Time;
use perennial_proto::node::{Confirmed, RecordsChanged, SharedRecords};
use perennial_store::NodeRegistration;
use tokio::time::Instant;

use super::{Cluster, is_live};
use crate::{Refusal, Runtime, namespaces};

/// Tells another node that records have changed.
pub const RECORDS_CHANGED: &str = "/perennial.node.v1.Node/RecordsChanged";

/// A node that renews its lease, and can't be reached by other nodes, doesn't hold up changes for ever.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(10);

/// Time between two attempts to tell a node.
const RETRY_DELAY: Duration = Duration::from_millis(100);

impl Runtime {
    /// Waits until every node has read these records again, or can't use what it knows any more because its
    /// lease has ended.
    pub async fn confirm_records(&self, records: SharedRecords) -> Result<(), Refusal> {
        let Some(cluster) = self.node.cluster.clone() else { return Ok(()) };
        // Read now: a node that registered before the change was written is in it, and one that registers later reads
        // the change by itself.
        let view = self
            .with_store(|store| match store.cluster() {
                Some(store) => store.cluster_view(),
                None => {
                    Err(perennial_store::Error::Unavailable("the store has no nodes".to_owned()))
                }
            })
            .await?;
        let read_at = view.now;
        let nodes = view.nodes.into_iter().filter(is_live);
        let nodes = nodes.filter(|node| node.registration.id != cluster.id);
        let mut telling = tokio::task::JoinSet::new();
        for node in nodes {
            let (cluster, lease_ends) = (Arc::clone(&cluster), Instant::now() + node.lease_left);
            telling.spawn(async move {
                let NodeRegistration { id, address, .. } = &node.registration;
                tell(&cluster, (id, address), records, read_at, lease_ends).await;
            });
        }
        while telling.join_next().await.is_some() {}
        Ok(())
    }

    /// Reads the namespaces again, because another node has changed them.
    pub async fn reload_namespaces(&self) -> Result<(), Refusal> {
        let _lock = self.record_lock.lock().await;
        let stored = self.with_store(namespaces::stored).await?;
        self.node.set_namespaces(stored);
        Ok(())
    }
}

/// Tells a node until it confirms, or its lease has ended.
async fn tell(
    cluster: &Cluster,
    (id, address): (&str, &str),
    records: SharedRecords,
    read_at: Time,
    mut lease_ends: Instant,
) {
    let changed = RecordsChanged { records: records.into() };
    let gives_up = Instant::now() + CONFIRMED_WITHIN;
    while Instant::now() < lease_ends.min(gives_up) {
        let sent = cluster.send::<Confirmed>(address, RECORDS_CHANGED, &changed);
        if let Ok(Ok(_)) = tokio::time::timeout_at(lease_ends.min(gives_up), sent).await {
            return;
        }
        tokio::time::sleep(RETRY_DELAY).await;
        // It may have renewed its lease meanwhile, or have left.
        let view = cluster.view();
        match view.nodes.iter().find(|node| node.registration.id == id) {
            Some(node) if is_live(node) => {
                lease_ends = lease_ends.max(Instant::now() + node.lease_left);
            }
            // An older view doesn't know a node that has just registered.
            None if view.now > read_at => return,
            Some(_) | None => {}
        }
    }
    if Instant::now() >= gives_up {
        tracing::error!(
            address,
            ?records,
            "a node renews its lease, but doesn't answer: it may use old records until it is restarted"
        );
    }
}
