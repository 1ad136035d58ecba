//! Workers that go, and the polls that were on their way when they said so.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use perennial_engine::{NamespaceKey, Span, Time};

use super::{Poller, QueueKind};
use crate::api::LeavingWorker;

/// A poll that was on its way when its worker went arrives within this time.
const REMEMBERED_FOR: Span = Span::seconds(300);

/// Which workers have left which queues.
///
/// By queue: a worker process may have several workers that say the same key, and one of them going must not end
/// the polls of the others.
#[derive(Default)]
pub(super) struct Departures {
    left: Mutex<HashMap<Left, (Time, LeavingWorker)>>,
}

/// The namespace, a worker's key, and the queue.
type Left = (NamespaceKey, String, String);

impl Departures {
    /// A worker goes.
    pub(super) fn note(&self, leaving: &LeavingWorker, now: Time) {
        if leaving.worker_instance_key.is_empty() || leaving.queue.is_empty() {
            return;
        }
        let mut left = self.lock();
        left.retain(|_, (at, _)| now.since(*at) < REMEMBERED_FOR);
        let (worker, queue) = (leaving.worker_instance_key.clone(), leaving.queue.clone());
        let key = (leaving.namespace, worker, queue);
        let earlier = left.remove(&key).map(|(_, earlier)| earlier);
        let mut leaving = leaving.clone();
        if let Some(earlier) = earlier {
            leaving.leaves_workflow_tasks |= earlier.leaves_workflow_tasks;
            leaving.leaves_activities |= earlier.leaves_activities;
        }
        left.insert(key, (now, leaving));
    }

    /// Whether the poll is of a worker that has gone.
    pub(super) fn include(&self, poller: &Poller) -> bool {
        let left = self.lock();
        if left.is_empty() || poller.info.worker_instance_key.is_empty() {
            return false;
        }
        let worker = poller.info.worker_instance_key.clone();
        let key = (poller.queue.namespace, worker, poller.normal_queue().to_owned());
        left.get(&key).is_some_and(|(_, leaving)| leaving.ends(poller))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Left, (Time, LeavingWorker)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeavingWorker {
    /// Whether it is a poll of this worker and of what it leaves.
    pub(super) fn ends(&self, poller: &Poller) -> bool {
        if self.worker_instance_key.is_empty()
            || self.worker_instance_key != poller.info.worker_instance_key
            || self.namespace != poller.queue.namespace
            || self.queue != poller.normal_queue()
        {
            return false;
        }
        match poller.queue.kind {
            QueueKind::Workflow => self.leaves_workflow_tasks,
            QueueKind::Activity => self.leaves_activities,
        }
    }
}
