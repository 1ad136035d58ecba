//! Workers that have shut down: their polls that arrive later end immediately.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{QueueKind, QueueName, WaitingPoll};
use crate::api::LeavingWorker;
use crate::clock::Monotonic;

/// A poll sent before its worker's shutdown arrives within this time.
const REMEMBERED_FOR: Duration = Duration::from_secs(300);

/// Workers that have shut down, by queue, with the time.
///
/// By queue, because several workers of a process may have the same key: the shutdown of one must not end the polls
/// of the others.
#[derive(Default)]
pub(super) struct WorkerShutdowns {
    left: Mutex<HashMap<Left, Monotonic>>,
}

/// A worker's key and its normal queue.
type Left = (String, QueueName);

impl WorkerShutdowns {
    /// Records the shutdown of a worker.
    pub(super) fn record(&self, leaving: &LeavingWorker, now: Monotonic) {
        if leaving.worker_instance_key.is_empty() || leaving.queue.is_empty() {
            return;
        }
        let mut left = self.lock();
        left.retain(|_, at| now.since(*at) < REMEMBERED_FOR);
        let kinds = [
            (QueueKind::Workflow, leaving.leaves_workflow_tasks),
            (QueueKind::Activity, leaving.leaves_activities),
        ];
        for (kind, _) in kinds.into_iter().filter(|(_, is_left)| *is_left) {
            let queue =
                QueueName { namespace: leaving.namespace, name: leaving.queue.clone(), kind };
            left.insert((leaving.worker_instance_key.clone(), queue), now);
        }
    }

    /// Whether the poll is of a worker that has shut down.
    pub(super) fn contains(&self, poller: &WaitingPoll) -> bool {
        let left = self.lock();
        if left.is_empty() {
            return false;
        }
        let name = poller.normal_queue().to_owned();
        let queue = QueueName { namespace: poller.queue.namespace, name, kind: poller.queue.kind };
        left.contains_key(&(poller.info.worker_instance_key.clone(), queue))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Left, Monotonic>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
