//! Hints: a node with waiting tasks asks the nodes that have polls for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use perennial_proto::node::{TaskHint, TaskHintResponse, WaitingTasks};

use super::Cluster;
use super::polled_queues::{name_of, queue_of};
use crate::Runtime;
use crate::node::Node;
use crate::queues::QueueName;

/// Asks another node for polls.
pub const TASK_HINT: &str = "/perennial.node.v1.Node/TaskHint";

/// Hints are repeated this often while tasks wait.
const REPEATED_EVERY: Duration = Duration::from_secs(1);

/// A hint that isn't answered in this time counts as lost.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// Polls that one hint asks for, by queue: the others follow when these are answered.
const POLLS_PER_HINT: usize = 100;

impl Cluster {
    /// Asks other nodes for polls whenever tasks wait here and no poll does, until the node ends.
    pub(super) async fn ask_for_polls(self: Arc<Self>, node: Weak<Node>) {
        loop {
            let Some(queues) = node.upgrade().map(|node| Arc::clone(&node.queues)) else { return };
            let lending = queues.lending();
            let notified = tokio::time::timeout(REPEATED_EVERY, lending.polls_are_needed()).await;
            let Some(node) = node.upgrade() else { return };
            let waiting = match notified {
                Ok(()) => node.queues.take_starved(),
                Err(_) => node.queues.starving(),
            };
            self.hint(&node, waiting).await;
        }
    }

    /// Asks one node after the other, until enough polls are on their way.
    async fn hint(&self, node: &Node, waiting: Vec<(QueueName, usize)>) {
        let mut wanted: BTreeMap<QueueName, usize> = waiting.into_iter().collect();
        let mut asked: Vec<String> = Vec::new();
        loop {
            wanted.retain(|_, tasks| *tasks > 0);
            // The queues for which the same node is next are asked for together.
            let next = wanted.keys().find_map(|queue| {
                let nodes = self.nodes_that_poll(node, queue);
                nodes.into_iter().find(|address| !asked.contains(address))
            });
            let Some(address) = next else { return };
            let of_node = |queue: &QueueName| self.nodes_that_poll(node, queue).contains(&address);
            let queues: Vec<QueueName> = wanted.keys().filter(|it| of_node(it)).cloned().collect();
            let waiting = |queue: &QueueName| WaitingTasks {
                queue: Some(queue_of(queue)),
                tasks: wanted.get(queue).map_or(0, |tasks| (*tasks).min(POLLS_PER_HINT) as i32),
            };
            let hint = TaskHint {
                address: self.address.clone(),
                queues: queues.iter().map(waiting).collect(),
            };
            let sent = self.send::<TaskHintResponse>(&address, TASK_HINT, &hint);
            if let Ok(Ok(response)) = tokio::time::timeout(ANSWERED_WITHIN, sent).await {
                for (queue, lent) in queues.iter().zip(response.lent) {
                    if let Some(tasks) = wanted.get_mut(queue) {
                        *tasks = tasks.saturating_sub(usize::try_from(lent).unwrap_or(0));
                    }
                }
            }
            asked.push(address);
        }
    }
}

impl Runtime {
    /// Lends idle polls to another node that has tasks for them.
    pub fn lend_polls(&self, hint: TaskHint) -> TaskHintResponse {
        let now = self.node.monotonic();
        let lend = |waiting: WaitingTasks| {
            let tasks = usize::try_from(waiting.tasks).unwrap_or(0).min(POLLS_PER_HINT);
            let lent = waiting.queue.map_or(0, |queue| {
                self.node.queues.lend(&name_of(queue), &hint.address, tasks, now)
            });
            i32::try_from(lent).unwrap_or(i32::MAX)
        };
        TaskHintResponse { lent: hint.queues.into_iter().map(lend).collect() }
    }
}
