//! Those who use the server: clients, workers for workflows, workers for activities.

pub(crate) mod activity_worker;
pub(crate) mod client;
pub(crate) mod schedule_client;
mod schedule_wanted;
mod scheduled_run;
mod wanted;
pub(crate) mod workflow_worker;

use perennial_engine::NamespaceKey;
use perennial_runtime::Refusal;

/// The names of the namespaces. Their keys follow in this order, from 1.
pub(crate) const NAMESPACES: [&str; 2] = ["one", "two"];
/// The task queue that all workers and clients use, in every namespace.
pub(crate) const QUEUE: &str = "queue";
/// The number of workflow ids that clients start.
pub(crate) const WORKFLOWS: usize = 3;
/// The number of workflow ids that other workflows start.
pub(crate) const CHILDREN: usize = 3;
/// The number of schedules in a namespace.
pub(crate) const SCHEDULES: usize = 3;
/// The type of the workflows that schedules start.
pub(crate) const SCHEDULED: &str = "Scheduled";

/// A worker process: its namespace and its identity.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    pub(crate) namespace: NamespaceKey,
    pub(crate) identity: String,
}

impl Worker {
    /// The sticky queue of the worker.
    pub(crate) fn sticky_queue(&self) -> String {
        format!("sticky of {}", self.identity)
    }

    pub(crate) fn poller(&self, queue: String) -> perennial_runtime::Poller {
        let normal_queue = (queue != QUEUE).then(|| QUEUE.to_owned());
        perennial_runtime::Poller {
            namespace: self.namespace,
            queue,
            normal_queue,
            identity: self.identity.clone(),
            worker_version: None,
            deployment: None,
            worker_instance_key: String::new(),
            max_tasks_per_second: None,
        }
    }
}

/// Whether the outcome of the request is unknown, so that the caller may retry.
pub(crate) fn is_unknown(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Unavailable(_)
        | Refusal::TimedOut
        | Refusal::Moved
        | Refusal::Overloaded(_)
        | Refusal::Exhausted(_)
        | Refusal::PagesLost(_) => true,
        Refusal::Rejected(_) | Refusal::Damaged(_) => false,
    }
}
