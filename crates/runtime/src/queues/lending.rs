//! Polls that wait where the tasks are: a node lends the polls of its clients to other nodes.
//!
//! A poll is lent in advance, so that idle polls are spread over the nodes in proportion to their cells, or because a
//! node asks for it. One idle poll of a queue stays at home. A lent poll is a poll of the other node like any other, so
//! matching doesn't know about it. If it is needed elsewhere, it returns home without a task.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;

use super::waiting_poll::Grant;
use super::{Queue, QueueName, Queues};
use crate::clock::Monotonic;
use crate::cluster::PolledElsewhere;

/// A request of another node for polls holds for this long. It is repeated while tasks wait.
const WANTED_FOR: Duration = Duration::from_millis(1_100);

/// A poll that another node asked for waits there for this long.
const LENT_ON_REQUEST_FOR: Duration = Duration::from_millis(500);

/// Queues that wait to be asked for. More are found a second later.
const STARVED_MAX: usize = 10_000;

/// How polls and tasks of different nodes meet. Does nothing on a server without a cluster.
#[derive(Default)]
pub(crate) struct Lending {
    elsewhere: PolledElsewhere,
    nodes: RwLock<Arc<NodeWeights>>,
    /// Queues that have got a task while no poll waited.
    starved: Mutex<BTreeSet<QueueName>>,
    /// Polls that other nodes want, with when they said so.
    wanted: Mutex<HashMap<QueueName, Vec<Wanted>>>,
    needs_polls: Notify,
    polls_changed: Notify,
}

/// The nodes of a cluster, with the number of their cells.
#[derive(Debug, Default)]
pub(crate) struct NodeWeights {
    /// Cells of this node.
    pub(crate) home: usize,
    /// Addresses and cells of the other nodes.
    pub(crate) others: Vec<(String, usize)>,
}

struct Wanted {
    address: String,
    polls: usize,
    at: Monotonic,
}

/// A poll to be passed to another node.
#[derive(Debug)]
pub(crate) struct LentOut {
    pub(crate) address: String,
    /// How long it may wait there; without, as long as it likes.
    pub(crate) wait: Option<Duration>,
    _count: Counted,
}

/// Polls lent out to each node.
#[derive(Default)]
pub(super) struct LentOutCounts(HashMap<String, Arc<AtomicUsize>>);

/// Counts a poll as lent out until it is dropped.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lending {
    /// The polled queues of other nodes.
    pub(crate) fn elsewhere(&self) -> &PolledElsewhere {
        &self.elsewhere
    }

    /// Notes the nodes of the cluster and their cells.
    pub(crate) fn set_nodes(&self, nodes: NodeWeights) {
        *self.nodes.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(nodes);
    }

    /// Completes when a queue has got a task while no poll waited.
    pub(crate) async fn polls_are_needed(&self) {
        self.needs_polls.notified().await;
    }

    /// Completes when a queue is polled that wasn't.
    pub(crate) async fn polls_have_changed(&self) {
        self.polls_changed.notified().await;
    }

    /// Takes the queues that have got a task while no poll waited.
    fn take_starved(&self) -> BTreeSet<QueueName> {
        std::mem::take(&mut *lock(&self.starved))
    }

    pub(super) fn starve(&self, queue: QueueName) {
        if self.nodes().others.is_empty() {
            return;
        }
        let mut starved = lock(&self.starved);
        if starved.len() < STARVED_MAX {
            starved.insert(queue);
            self.needs_polls.notify_one();
        }
    }

    pub(super) fn queue_is_polled(&self) {
        self.polls_changed.notify_one();
    }

    /// This node's part of a rate limit. The parts of all nodes add up to it.
    pub(super) fn share_of(&self, per_second: f64) -> f64 {
        let nodes = self.nodes();
        let all = nodes.home + nodes.others.iter().map(|(_, cells)| cells).sum::<usize>();
        if nodes.others.is_empty() || all == 0 {
            return per_second;
        }
        per_second * nodes.home as f64 / all as f64
    }

    fn nodes(&self) -> Arc<NodeWeights> {
        Arc::clone(&self.nodes.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a node wants polls.
    fn want(&self, queue: &QueueName, wanted: Wanted, now: Monotonic) {
        let mut all = lock(&self.wanted);
        all.retain(|_, nodes| {
            nodes.retain(|it| now.since(it.at) < WANTED_FOR);
            !nodes.is_empty()
        });
        let nodes = all.entry(queue.clone()).or_default();
        nodes.retain(|it| it.address != wanted.address);
        nodes.push(wanted);
    }

    /// A node that wants a poll of the queue.
    fn take_wanted(&self, queue: &QueueName, now: Monotonic) -> Option<String> {
        let mut all = lock(&self.wanted);
        let nodes = all.get_mut(queue)?;
        nodes.retain(|it| it.polls > 0 && now.since(it.at) < WANTED_FOR);
        let wanted = nodes.first_mut()?;
        wanted.polls -= 1;
        Some(wanted.address.clone())
    }
}

impl Queues {
    /// The polled queues of other nodes.
    pub(crate) fn elsewhere(&self) -> &PolledElsewhere {
        self.lending.elsewhere()
    }

    /// Lends up to `tasks` idle polls to the node at an address, or sends polls of other nodes home. What is missing is
    /// lent when it arrives.
    pub(crate) fn lend(
        &self,
        name: &QueueName,
        address: &str,
        tasks: usize,
        now: Monotonic,
    ) -> usize {
        let mut lent = 0;
        let mut queues = self.lock();
        if let Some(queue) = queues.get_mut(name) {
            while lent < tasks && (queue.lend_oldest(address) || queue.send_home()) {
                lent += 1;
            }
        }
        drop(queues);
        if lent < tasks {
            let wanted = Wanted { address: address.to_owned(), polls: tasks - lent, at: now };
            self.lending.want(name, wanted, now);
        }
        lent
    }

    /// The queues that have got a task while no poll waited, with the number of their tasks. Each is returned once.
    pub(crate) fn take_starved(&self) -> Vec<(QueueName, usize)> {
        let starved = self.lending.take_starved();
        let mut queues = self.lock();
        let tasks = |name: QueueName| {
            let tasks = queues.get_mut(&name)?.starving_tasks();
            (tasks > 0).then_some((name, tasks))
        };
        starved.into_iter().filter_map(tasks).collect()
    }

    /// Asks for polls for those of these queues that have tasks and no poll.
    pub(crate) fn look_for_starving(&self, names: Vec<QueueName>) {
        let mut queues = self.lock();
        for name in names {
            if queues.get_mut(&name).is_some_and(|queue| queue.starving_tasks() > 0) {
                self.lending.starve(name);
            }
        }
    }

    /// All queues with tasks and without a poll.
    pub(crate) fn starving(&self) -> Vec<(QueueName, usize)> {
        let mut queues = self.lock();
        let tasks = |(name, queue): (&QueueName, &mut Queue)| {
            let tasks = queue.starving_tasks();
            (tasks > 0).then(|| (name.clone(), tasks))
        };
        queues.iter_mut().filter_map(tasks).collect()
    }

    /// The queues that workers poll at this node, with the number of polls that may be lent. `limit` at most.
    pub(crate) fn polled(&self, now: Monotonic, limit: usize) -> Vec<(QueueName, usize)> {
        let mut queues = self.lock();
        let polled = queues.iter_mut().filter_map(|(name, queue)| {
            let idle = queue.pollers.iter().filter(|poll| poll.may_be_lent()).count();
            (queue.is_polled(now) || queue.lent_out.any()).then(|| (name.clone(), idle))
        });
        polled.take(limit).collect()
    }
}

impl Queue {
    /// Tasks and queries that wait while no poll does.
    fn starving_tasks(&mut self) -> usize {
        if self.has_pollers() { 0 } else { self.backlog.len() + self.queries.len() }
    }

    /// Lends the poll that has just been added, if another node should have it.
    pub(super) fn lend_newest(&mut self, name: &QueueName, lending: &Lending, now: Monotonic) {
        if !self.pollers.back().is_some_and(super::WaitingPoll::may_be_lent) {
            return;
        }
        if let Some(address) = lending.take_wanted(name, now) {
            return self.lend_last(address, Some(LENT_ON_REQUEST_FOR));
        }
        let nodes = lending.nodes();
        let idle = self.pollers.iter().filter(|poll| poll.may_be_lent() && !poll.is_gone()).count();
        // One stays at home, for tasks of nodes that ask.
        if nodes.others.is_empty() || idle < 2 {
            return;
        }
        let load = |polls: usize, cells: usize| (polls + 1) as f64 / cells.max(1) as f64;
        let with_cells = nodes.others.iter().filter(|(_, cells)| *cells > 0);
        let loads =
            with_cells.map(|(address, cells)| (load(self.lent_out.of(address), *cells), address));
        let least = loads.min_by(|left, right| left.0.total_cmp(&right.0));
        // Without this poll, which isn't idle yet.
        let at_home = load(idle - 1, nodes.home);
        if let Some((load, address)) = least
            && (load < at_home || nodes.home == 0)
        {
            self.lend_last(address.clone(), None);
        }
    }

    fn lend_last(&mut self, address: String, wait: Option<Duration>) {
        if let Some(poll) = self.pollers.pop_back() {
            let count = self.lent_out.count(&address);
            // A caller that has gone needs no task either.
            let _ = poll.give(Grant::Lent(LentOut { address, wait, _count: count }));
        }
    }

    /// Lends the poll that has waited longest. False if there is none.
    fn lend_oldest(&mut self, address: &str) -> bool {
        let lendable = |poll: &super::WaitingPoll| poll.may_be_lent() && !poll.is_gone();
        let Some(place) = self.pollers.iter().position(lendable) else { return false };
        let Some(poll) = self.pollers.remove(place) else { return false };
        let count = self.lent_out.count(address);
        let wait = Some(LENT_ON_REQUEST_FOR);
        poll.give(Grant::Lent(LentOut { address: address.to_owned(), wait, _count: count })).is_ok()
    }
}

impl Queue {
    /// Sends a poll home that another node has lent, because it is needed elsewhere. False if there is none.
    fn send_home(&mut self) -> bool {
        let is_guest = |poll: &super::WaitingPoll| !poll.may_be_lent() && !poll.is_gone();
        let Some(place) = self.pollers.iter().position(is_guest) else { return false };
        // Dropped without a grant, it ends empty.
        self.pollers.remove(place).is_some()
    }
}

impl LentOutCounts {
    fn any(&self) -> bool {
        self.0.values().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn of(&self, address: &str) -> usize {
        self.0.get(address).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn count(&mut self, address: &str) -> Counted {
        // Nodes that have left aren't counted for ever.
        self.0.retain(|other, count| other == address || count.load(Ordering::Relaxed) > 0);
        let count = self.0.entry(address.to_owned()).or_default();
        count.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(count))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
