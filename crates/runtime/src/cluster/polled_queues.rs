//! Which task queues the clients of other nodes poll. Nodes tell each other every second, and when a queue is polled for
//! the first time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use perennial_engine::NamespaceKey;
use perennial_proto::node::{self, Confirmed, PolledQueue, PolledQueues};

use super::Cluster;
use crate::Runtime;
use crate::clock::Monotonic;
use crate::node::Node;
use crate::queues::{QueueKind, QueueName};

/// Tells another node which queues are polled.
pub const POLLED_QUEUES: &str = "/perennial.node.v1.Node/PolledQueues";

/// Time between two announcements.
const ANNOUNCED_EVERY: Duration = Duration::from_secs(1);

/// An announcement holds for this long: a node that hangs is forgotten.
const HELD_FOR: Duration = Duration::from_secs(4);

/// Queues in an announcement. A worker polls three; more than these are a few thousand workers of one node.
const QUEUES_MAX: usize = 20_000;

/// The announcements of other nodes.
#[derive(Default)]
pub(crate) struct PolledElsewhere(Mutex<HashMap<String, Announcement>>);

struct Announcement {
    sequence: i64,
    heard_at: Monotonic,
    /// Polls that wait at the node, by queue.
    idle: HashMap<QueueName, i32>,
}

impl PolledElsewhere {
    /// Whether clients of another node poll the queue.
    pub(crate) fn contains(&self, queue: &QueueName, now: Monotonic) -> bool {
        self.lock().values().any(|it| it.holds(now) && it.idle.contains_key(queue))
    }

    /// The nodes whose clients poll the queue, those with the most idle polls first.
    fn nodes(&self, queue: &QueueName, now: Monotonic) -> Vec<String> {
        let announced = self.lock();
        let mut nodes: Vec<(i32, &String)> = announced
            .iter()
            .filter(|(_, it)| it.holds(now))
            .filter_map(|(node, it)| it.idle.get(queue).map(|idle| (*idle, node)))
            .collect();
        nodes.sort_by(|left, right| right.cmp(left));
        nodes.into_iter().map(|(_, node)| node.clone()).collect()
    }

    /// Nobody polls the queue of this name any more, because its worker has shut down.
    pub(crate) fn forget(&self, namespace: NamespaceKey, name: &str) {
        for announced in self.lock().values_mut() {
            announced.idle.retain(|queue, _| queue.namespace != namespace || queue.name != name);
        }
    }

    /// Notes what a node announces, and forgets those that have been silent.
    pub(crate) fn hear(&self, announced: PolledQueues, now: Monotonic) {
        let mut nodes = self.lock();
        nodes.retain(|_, it| it.holds(now));
        let is_old = |it: &Announcement| it.sequence >= announced.sequence;
        if nodes.get(&announced.node).is_some_and(is_old) {
            return;
        }
        let queues = announced.queues.into_iter().take(QUEUES_MAX);
        let idle = queues.filter_map(|it| Some((name_of(it.queue?), it.idle))).collect();
        let sequence = announced.sequence;
        nodes.insert(announced.node, Announcement { sequence, heard_at: now, idle });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Announcement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Announcement {
    fn holds(&self, now: Monotonic) -> bool {
        now.since(self.heard_at) < HELD_FOR
    }
}

impl Cluster {
    /// Tells the other nodes which queues are polled here, until the node ends.
    pub(super) async fn announce_polled_queues(self: Arc<Self>, node: Weak<Node>) {
        let mut sequence = 0;
        loop {
            {
                let Some(node) = node.upgrade() else { return };
                let polled = node.queues.polled(node.monotonic(), QUEUES_MAX);
                let queues = polled
                    .into_iter()
                    .map(|(name, idle)| PolledQueue {
                        queue: Some(queue_of(&name)),
                        idle: i32::try_from(idle).unwrap_or(i32::MAX),
                    })
                    .collect();
                sequence += 1;
                let announced =
                    Arc::new(PolledQueues { node: self.address.clone(), sequence, queues });
                for address in self.others() {
                    let (cluster, announced) = (Arc::clone(&self), Arc::clone(&announced));
                    self.tasks.spawn(async move {
                        // The next announcement says it again.
                        let _: Result<Confirmed, _> =
                            cluster.send(&address, POLLED_QUEUES, announced.as_ref()).await;
                    });
                }
            }
            let Some(queues) = node.upgrade().map(|node| Arc::clone(&node.queues)) else { return };
            let changed = queues.lending().polls_have_changed();
            // Announced when something changes, and every second.
            let _ = tokio::time::timeout(ANNOUNCED_EVERY, changed).await;
        }
    }

    /// The addresses of the nodes whose clients poll a queue.
    pub(super) fn nodes_that_poll(&self, node: &Node, queue: &QueueName) -> Vec<String> {
        let others = self.others();
        let polled = node.queues.elsewhere().nodes(queue, node.monotonic());
        polled.into_iter().filter(|address| others.contains(address)).collect()
    }
}

impl Runtime {
    /// Notes which queues the clients of another node poll. If their tasks wait here, that node is asked for polls.
    pub fn hear_polled_queues(&self, announced: PolledQueues) {
        let polled: Vec<_> =
            announced.queues.iter().filter_map(|it| it.queue.clone()).map(name_of).collect();
        self.node.queues.elsewhere().hear(announced, self.node.monotonic());
        self.node.queues.look_for_starving(polled);
    }
}

pub(super) fn queue_of(name: &QueueName) -> node::Queue {
    let QueueName { namespace, name, kind } = name;
    let is_activity = matches!(kind, QueueKind::Activity);
    node::Queue { namespace: namespace.0, name: name.clone(), is_activity }
}

pub(super) fn name_of(queue: node::Queue) -> QueueName {
    let kind = if queue.is_activity { QueueKind::Activity } else { QueueKind::Workflow };
    QueueName { namespace: NamespaceKey(queue.namespace), name: queue.name, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(node: &str, sequence: i64, queues: &[(&str, i32)]) -> PolledQueues {
        let queue = |name: &str| {
            let name = name.to_owned();
            Some(node::Queue { namespace: 1, name, is_activity: false })
        };
        let queues =
            queues.iter().map(|(name, idle)| PolledQueue { queue: queue(name), idle: *idle });
        PolledQueues { node: node.to_owned(), sequence, queues: queues.collect() }
    }

    fn queue(name: &str) -> QueueName {
        name_of(node::Queue { namespace: 1, name: name.to_owned(), is_activity: false })
    }

    #[test]
    fn silent_node_is_forgotten_and_old_news_is_ignored() {
        let polled = PolledElsewhere::default();
        let start = Monotonic::at(Duration::from_secs(10));
        polled.hear(announced("a", 2, &[("orders", 1)]), start);
        polled.hear(announced("a", 1, &[("old", 1)]), start);
        assert!(polled.contains(&queue("orders"), start));
        assert!(!polled.contains(&queue("old"), start));
        assert!(!polled.contains(&queue("orders"), start.after(HELD_FOR)));
    }

    #[test]
    fn node_with_the_most_idle_polls_is_asked_first() {
        let polled = PolledElsewhere::default();
        let now = Monotonic::at(Duration::from_secs(10));
        polled.hear(announced("a", 1, &[("orders", 0)]), now);
        polled.hear(announced("b", 1, &[("orders", 5), ("other", 9)]), now);
        polled.hear(announced("c", 1, &[("other", 9)]), now);
        assert_eq!(polled.nodes(&queue("orders"), now), ["b", "a"]);
    }
}
