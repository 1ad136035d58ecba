//! Fatal failures of a node: a thread panicked, or the node was fenced from the store.
//!
//! A node with a dead thread would take requests and answer none. So the server exits on a fatal failure:
//! acknowledged writes are in the store.

use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::Node;

/// Whether the node has failed, and why. The first reason stays.
pub(crate) struct Failure {
    reason: watch::Sender<Option<Arc<str>>>,
}

impl Default for Failure {
    fn default() -> Self {
        Self { reason: watch::Sender::new(None) }
    }
}

impl Failure {
    /// Records the first failure.
    pub(super) fn set(&self, reason: &str) {
        self.reason.send_if_modified(|known| {
            let is_news = known.is_none();
            if is_news {
                tracing::error!(reason, "the server failed and stops");
                *known = Some(reason.into());
            }
            is_news
        });
    }

    pub(crate) fn reason(&self) -> Option<Arc<str>> {
        self.reason.borrow().clone()
    }

    /// Resolves when the node has failed.
    pub(crate) async fn wait(&self) -> Arc<str> {
        let mut reasons = self.reason.subscribe();
        loop {
            if let Some(reason) = reasons.borrow_and_update().clone() {
                return reason;
            }
            // The sender is in `self`, so it isn't dropped.
            if reasons.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Fails the node when the thread that holds it panics.
pub(crate) struct PanicGuard {
    node: Weak<Node>,
}

impl PanicGuard {
    pub(crate) fn of(node: &Arc<Node>) -> Self {
        Self { node: Arc::downgrade(node) }
    }
}

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(node) = self.node.upgrade()
        {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("without a name");
            node.failure.set(&format!("the thread `{name}` panicked; start the server again"));
        }
    }
}
