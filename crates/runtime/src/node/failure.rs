//! What ends a node: a thread that died, or a store that may not be written any more.
//!
//! A node with a dead thread would take requests and answer none. So whoever runs it is told, and ends the
//! process: what was acknowledged is in the store.

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
    /// Notes the end, once.
    pub(super) fn set(&self, reason: &str) {
        self.reason.send_if_modified(|known| {
            let is_news = known.is_none();
            if is_news {
                tracing::error!(reason, "the server can't go on");
                *known = Some(reason.into());
            }
            is_news
        });
    }

    pub(crate) fn reason(&self) -> Option<Arc<str>> {
        self.reason.borrow().clone()
    }

    /// Done when the node has failed.
    pub(crate) async fn wait(&self) -> Arc<str> {
        let mut reasons = self.reason.subscribe();
        loop {
            if let Some(reason) = reasons.borrow_and_update().clone() {
                return reason;
            }
            // The sender is in `self`: it can't be gone.
            if reasons.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Held by a thread of a node: when it panics, the node fails.
pub(super) struct Watched {
    node: Weak<Node>,
}

impl Watched {
    pub(super) fn of(node: &Arc<Node>) -> Self {
        Self { node: Arc::downgrade(node) }
    }
}

impl Drop for Watched {
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
