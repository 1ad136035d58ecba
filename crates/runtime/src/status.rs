//! The state of a running node, for those who look after it.

use std::time::Duration;

use perennial_engine::{Span, Time};
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_store::DiskUsage;

use crate::Runtime;
use crate::queues::QueueKind;

pub use crate::node::CommitTimes;

/// How long the disk has to answer. One that hangs must not keep its problem secret.
const DISK_TIMEOUT: Duration = Duration::from_secs(2);

/// The files of the store, and their disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageStatus {
    /// The database file, or the address of the database. `None` if the data is in memory.
    pub place: Option<String>,
    /// The size of all files together.
    pub bytes: u64,
    /// The disk of the files, if it answers.
    pub disk: Option<DiskUsage>,
}

/// A task queue with waiting tasks that no worker polls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpolledQueue {
    /// The name of its namespace.
    pub namespace: String,
    /// Its own name.
    pub name: String,
    /// The kind of its tasks.
    pub kind: TaskQueueType,
    /// How many tasks wait.
    pub backlog: usize,
    /// When the oldest of them was added.
    pub oldest: Option<Time>,
}

impl Runtime {
    /// How long the last commits took.
    pub fn commit_times(&self) -> CommitTimes {
        self.node.commit_observer.times()
    }

    /// How far timers and schedules are behind: the age of the oldest that is due and hasn't been evaluated.
    pub fn wake_lag(&self) -> Span {
        let now = self.now();
        let behind = self.node.next_wakes().map(|wake| now.since(wake));
        behind.filter(|lag| lag.0 > 0).max().unwrap_or(Span::ZERO)
    }

    /// The files of the store, and their disk.
    pub async fn storage_status(&self) -> StorageStatus {
        let place = self.node.store.place();
        let looking = self.with_store(|store| {
            let bytes = store.file_sizes().iter().map(|file| file.bytes).sum();
            Ok((bytes, store.disk_usage()))
        });
        match tokio::time::timeout(DISK_TIMEOUT, looking).await {
            Ok(Ok((bytes, disk))) => StorageStatus { place, bytes, disk },
            Ok(Err(_)) | Err(_) => StorageStatus { place, bytes: 0, disk: None },
        }
    }

    /// The task queues with waiting tasks that no worker has polled for a while, longest wait first, `limit` at most.
    pub fn unpolled_queues(&self, limit: usize) -> Vec<UnpolledQueue> {
        let namespaces = self.namespaces();
        let unpolled = self.node.queues.unpolled(self.node.monotonic()).into_iter();
        let mut shown: Vec<_> = unpolled
            .filter_map(|(queue, backlog, oldest)| {
                let namespace = namespaces.by_key(queue.namespace)?.name.clone();
                let kind = match queue.kind {
                    QueueKind::Workflow => TaskQueueType::Workflow,
                    QueueKind::Activity => TaskQueueType::Activity,
                };
                Some(UnpolledQueue { namespace, name: queue.name, kind, backlog, oldest })
            })
            .collect();
        shown.sort_by(|left, right| {
            let key = |it: &UnpolledQueue| (it.oldest.unwrap_or(Time(i64::MAX)), it.name.clone());
            key(left).cmp(&key(right))
        });
        shown.truncate(limit);
        shown
    }
}
