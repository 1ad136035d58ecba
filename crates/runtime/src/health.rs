//! The health of a runtime.

use std::sync::Arc;

use crate::{DamageCount, Runtime};

impl Runtime {
    /// Resolves with the reason when the runtime has failed: a thread panicked, or the node was fenced from the store.
    /// Acknowledged requests are durable. The process should exit.
    pub async fn failed(&self) -> Arc<str> {
        self.node.failure.wait().await
    }

    /// The reason of a fatal failure, if there was one.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.node.failure.reason()
    }

    /// Health: an error while the store takes no writes, and after a fatal failure.
    pub fn health(&self) -> Result<(), String> {
        if let Some(reason) = self.failure() {
            return Err(reason.to_string());
        }
        self.node.store_problem().map_or(Ok(()), Err)
    }

    /// Damaged rows found in the store since the start.
    pub fn damage(&self) -> DamageCount {
        self.node.damage.count()
    }
}
