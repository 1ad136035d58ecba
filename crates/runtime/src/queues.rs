//! Task queues: pollers that wait for tasks, and tasks that wait for pollers.
//!
//! The queues are a cache. A run's cell decides whether a task may still start, and owns the rows of waiting tasks.
//! After a loss the queues are read from the store again.

mod backlog;
mod backlog_memory;
mod lending;
#[cfg(test)]
mod lending_test;
mod rate_limit;
mod series;
mod waiting_poll;
mod worker_shutdowns;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perennial_engine::{NamespaceKey, Time};
use perennial_proto::store::{RunName, TaskKind, WaitingTask};
use tokio::sync::Notify;

pub(crate) use self::backlog::{Page, Reading, level_of};
pub(crate) use self::lending::{Lending, LentOut, NodeWeights};
pub(crate) use self::waiting_poll::{Grant, WaitingPoll};

use self::backlog::Backlog;
use self::backlog_memory::BacklogMemory;
use self::rate_limit::RateLimit;
use self::series::{Matches, QueueSeries, SeriesName};
use self::worker_shutdowns::WorkerShutdowns;
use crate::api::{Demand, LeavingWorker, QueueDescription};
use crate::clock::Monotonic;

/// A queue counts as polled for this long after its last poll.
const POLLED_WITHIN: Duration = Duration::from_secs(10);
/// Queue descriptions list a poller for this long after its last poll.
const SHOWN_FOR: Duration = Duration::from_secs(300);

/// A queue with waiting tasks counts as without workers this long after its last poll.
const UNPOLLED_AFTER: Duration = Duration::from_secs(60);

/// If a poll waited this long and no other task waits, the worker is told to poll less.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// With more queues than this, unused ones are dropped.
const QUEUES_KEPT: usize = 1_000;

/// Kind of a queue's tasks. A name has one queue of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QueueKind {
    Workflow,
    Activity,
}

/// A queue's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueName {
    pub(crate) namespace: NamespaceKey,
    pub(crate) name: String,
    pub(crate) kind: QueueKind,
}

/// A query sent to a worker without a workflow task. Never stored.
#[derive(Debug, Clone)]
pub(crate) struct QueryTask {
    pub(crate) queue: QueueName,
    pub(crate) run: RunName,
    pub(crate) query_id: String,
    pub(crate) is_sticky: bool,
}

/// A poller matched with a task or a query.
pub(crate) enum Match {
    Task(WaitingTask, WaitingPoll),
    Query(QueryTask, WaitingPoll),
}

/// All queues of a node.
pub(crate) struct Queues {
    memory: BacklogMemory,
    queues: Mutex<HashMap<QueueName, Queue>>,
    /// Locked after the queues.
    series: Mutex<QueueSeries>,
    /// Polls of workers that have shut down end immediately.
    worker_shutdowns: WorkerShutdowns,
    /// How polls and tasks of different nodes meet.
    lending: Lending,
}

struct Queue {
    pollers: VecDeque<WaitingPoll>,
    backlog: Backlog,
    queries: VecDeque<QueryTask>,
    /// `None` before the first poll, and after the queue's worker has shut down.
    last_polled: Option<Monotonic>,
    seen: BTreeMap<String, SeenPoller>,
    added: Rate,
    taken: Rate,
    /// As the last worker with a limit asked for.
    rate_limit: Option<RateLimit>,
    /// Wakes the waiting polls when a task is rate limited or has to be read from the store.
    recheck: Arc<Notify>,
    is_sticky: bool,
    /// Polls of clients of this node that wait at other nodes.
    lent_out: lending::LentOutCounts,
    matches: Arc<Matches>,
}

struct SeenPoller {
    at: Monotonic,
    rate: f64,
    deployment: Option<perennial_proto::temporal::deployment::v1::WorkerDeploymentOptions>,
}

impl Queues {
    /// No queues yet, with a memory limit in bytes for waiting tasks.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let memory = BacklogMemory::of(bytes_max);
        Self {
            memory,
            queues: Mutex::default(),
            series: Mutex::new(series::new()),
            worker_shutdowns: WorkerShutdowns::default(),
            lending: Lending::default(),
        }
    }

    /// How polls and tasks of different nodes meet.
    pub(crate) fn lending(&self) -> &Lending {
        &self.lending
    }

    /// Adds a poller. Returns a match if a task waits.
    pub(crate) fn poll(&self, poller: WaitingPoll, now: Monotonic) -> Option<Match> {
        if self.worker_shutdowns.contains(&poller) {
            return None;
        }
        let mut queues = self.lock();
        if queues.len() > QUEUES_KEPT && !queues.contains_key(&poller.queue) {
            queues.retain(|_, queue| !queue.is_unused(now));
        }
        let queue = self.entry(&mut queues, poller.queue.clone(), poller.is_sticky());
        let is_news = queue.last_polled.is_none_or(|last| now.since(last) >= POLLED_WITHIN);
        queue.last_polled = Some(now);
        if is_news {
            self.lending.queue_is_polled();
        }
        if let Some(per_second) = poller.info.max_tasks_per_second {
            let per_second = self.lending.share_of(per_second);
            queue
                .rate_limit
                .get_or_insert_with(|| RateLimit::new(per_second, now))
                .set(per_second, now);
        }
        let seen = SeenPoller {
            at: now,
            rate: poller.info.max_tasks_per_second.unwrap_or(100_000.0),
            deployment: poller.info.deployment.clone(),
        };
        queue.seen.insert(poller.identity().to_owned(), seen);
        queue.seen.retain(|_, seen| now.since(seen.at) < SHOWN_FOR);
        let name = poller.queue.clone();
        let matched = queue.add_poller(poller, now);
        if matched.is_none() {
            queue.lend_newest(&name, &self.lending, now);
        }
        matched
    }

    /// Adds a poller again whose match came to nothing.
    pub(crate) fn poll_again(&self, poller: WaitingPoll, now: Monotonic) -> Option<Match> {
        let mut queues = self.lock();
        self.entry(&mut queues, poller.queue.clone(), poller.is_sticky()).add_poller(poller, now)
    }

    /// Adds a task, stored or not. Returns a match if a poller waits.
    pub(crate) fn offer(
        &self,
        task: WaitingTask,
        is_stored: bool,
        now: Monotonic,
    ) -> Option<Match> {
        let mut queues = self.lock();
        let name = queue_of(&task);
        let queue = self.entry(&mut queues, name.clone(), task.sticky);
        queue.added.count(now);
        let is_first = queue.backlog.is_empty();
        queue.backlog.push(task, is_stored);
        let matched = queue.match_next(now);
        queue.count_match(matched.is_some(), is_first);
        if matched.is_none() && !queue.has_pollers() {
            self.lending.starve(name);
        }
        matched
    }

    /// The range of rows to read for a queue with few tasks left in memory. The caller reads them.
    pub(crate) fn begin_reading(&self, queue: &QueueName) -> Option<Reading> {
        self.lock().get_mut(queue)?.backlog.begin_reading()
    }

    /// The read failed.
    pub(crate) fn read_failed(&self, queue: &QueueName, reading: Reading) {
        if let Some(queue) = self.lock().get_mut(queue) {
            queue.backlog.read_failed(reading);
        }
    }

    /// Adds the tasks of a read. Returns the matches with waiting pollers.
    pub(crate) fn take_page(&self, queue: &QueueName, page: Page, now: Monotonic) -> Vec<Match> {
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(queue) else { return Vec::new() };
        queue.backlog.take_page(page);
        std::iter::from_fn(|| queue.match_waiting(now)).collect()
    }

    /// How long the rate limit holds back a task for which a poller waits. `None` if no task is held back.
    pub(crate) fn rate_limited_for(&self, queue: &QueueName, now: Monotonic) -> Option<Duration> {
        self.lock().get_mut(queue)?.rate_limited_for(now)
    }

    /// Notifies when a task is rate limited or has to be read from the store.
    pub(crate) fn recheck(&self, queue: &QueueName, is_sticky: bool) -> Arc<Notify> {
        Arc::clone(&self.entry(&mut self.lock(), queue.clone(), is_sticky).recheck)
    }

    /// Matches a rate-limited task if the limit allows it now.
    pub(crate) fn match_next(&self, queue: &QueueName, now: Monotonic) -> Option<Match> {
        self.lock().get_mut(queue)?.match_waiting(now)
    }

    /// Adds a query. Returns a match if a poller waits.
    pub(crate) fn offer_query(&self, task: QueryTask) -> Option<Match> {
        let mut queues = self.lock();
        let queue = self.entry(&mut queues, task.queue.clone(), task.is_sticky);
        match queue.claim() {
            Some(poller) => Some(Match::Query(task, poller)),
            None => {
                let name = task.queue.clone();
                queue.queries.push_back(task);
                self.lending.starve(name);
                None
            }
        }
    }

    /// Removes a waiting poller from the queue, unless a task waits for one or the rate limit is reached.
    pub(crate) fn claim(&self, queue: &QueueName, now: Monotonic) -> Option<WaitingPoll> {
        let mut queues = self.lock();
        let queue = queues.get_mut(queue)?;
        if !queue.backlog.is_empty() || !queue.has_pollers() || !queue.try_acquire(now) {
            return None;
        }
        let poller = queue.claim();
        queue.count_match(poller.is_some(), true);
        poller
    }

    /// Whether a worker polls the queue, here or at another node, or did so recently.
    pub(crate) fn is_polled(&self, queue: &QueueName, now: Monotonic) -> bool {
        let is_polled_here = self.lock().get_mut(queue).is_some_and(|queue| queue.is_polled(now));
        is_polled_here || self.lending.elsewhere().contains(queue, now)
    }

    /// Ends the polls of a worker that shuts down, also those that arrive later, and marks its sticky queue as not
    /// polled.
    pub(crate) fn end_polls(&self, leaving: &LeavingWorker, now: Monotonic) {
        self.worker_shutdowns.record(leaving, now);
        self.lending.elsewhere().forget(leaving.namespace, &leaving.sticky_queue);
        let mut queues = self.lock();
        for (name, queue) in queues.iter_mut() {
            if name.namespace != leaving.namespace {
                continue;
            }
            queue.pollers.retain(|poller| !self.worker_shutdowns.contains(poller));
            if !leaving.sticky_queue.is_empty() && name.name == leaving.sticky_queue {
                queue.pollers.clear();
                queue.last_polled = None;
            }
        }
    }

    /// Drops all stored tasks, which will be read again, and the unstored ones that `is_meant` selects.
    pub(crate) fn forget_tasks(&self, is_meant: impl Fn(&WaitingTask) -> bool) {
        for queue in self.lock().values_mut() {
            queue.backlog.forget(&is_meant);
        }
    }

    /// Load of a queue, for a poll that arrived at `polled_at` and got a task now.
    pub(crate) fn demand(&self, queue: &QueueName, polled_at: Monotonic, now: Monotonic) -> Demand {
        let backlog = self.lock().get(queue).map_or(0, |queue| queue.backlog.len() as i64);
        let polls_delta = match backlog {
            0 if now.since(polled_at) >= IDLE_AFTER => -1,
            0 => 0,
            _ => 1,
        };
        Demand { backlog, polls_delta }
    }

    /// Describes a queue. Times of pollers are shown in wall-clock time, which is now `shown_now`.
    pub(crate) fn describe(
        &self,
        queue: &QueueName,
        now: Monotonic,
        shown_now: Time,
    ) -> QueueDescription {
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(queue) else { return QueueDescription::default() };
        let pollers = queue
            .seen
            .iter()
            .map(|(identity, seen)| {
                let ago = i64::try_from(now.since(seen.at).as_nanos()).unwrap_or(i64::MAX);
                let at = Time(shown_now.0.saturating_sub(ago));
                (identity.clone(), at, seen.rate, seen.deployment.clone())
            })
            .collect();
        let oldest = queue.backlog.oldest();
        QueueDescription {
            pollers,
            backlog: queue.backlog.len() as i64,
            backlog_age_nanos: oldest.map_or(0, |oldest| shown_now.since(oldest).0),
            tasks_add_rate: queue.added.per_second(now),
            tasks_dispatch_rate: queue.taken.per_second(now),
        }
    }

    /// Queues with waiting tasks that no worker has polled for a while: the number of tasks, and since when the oldest
    /// waits. Sticky queues are left out, because their tasks move to the normal queue.
    pub(crate) fn unpolled(&self, now: Monotonic) -> Vec<(QueueName, usize, Option<Time>)> {
        let names: Vec<QueueName> = {
            let queues = self.lock();
            let unpolled = queues.iter().filter(|(_, queue)| queue.is_unpolled(now));
            unpolled.map(|(name, _)| name.clone()).collect()
        };
        // Not locked for all queues together: the age of a long backlog takes a while, and cells wait for the lock.
        let sample = |name: QueueName| {
            let queues = self.lock();
            let backlog = &queues.get(&name)?.backlog;
            let (tasks, oldest) = (backlog.len(), backlog.oldest());
            Some((name, tasks, oldest))
        };
        names.into_iter().filter_map(sample).collect()
    }

    fn entry<'a>(
        &self,
        queues: &'a mut HashMap<QueueName, Queue>,
        name: QueueName,
        is_sticky: bool,
    ) -> &'a mut Queue {
        match queues.entry(name) {
            Entry::Occupied(queue) => queue.into_mut(),
            Entry::Vacant(entry) => {
                let matches = self.series().get(SeriesName::of(entry.key(), is_sticky));
                entry.insert(Queue::new(self.memory.clone(), is_sticky, matches))
            }
        }
    }

    fn series(&self) -> MutexGuard<'_, QueueSeries> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueName, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn is_polled(&mut self, now: Monotonic) -> bool {
        let last = self.last_polled;
        self.has_pollers() || last.is_some_and(|last| now.since(last) < POLLED_WITHIN)
    }

    fn new(memory: BacklogMemory, is_sticky: bool, matches: Arc<Matches>) -> Self {
        Self {
            pollers: VecDeque::new(),
            backlog: Backlog::new(memory),
            queries: VecDeque::new(),
            last_polled: None,
            seen: BTreeMap::new(),
            added: Rate::default(),
            taken: Rate::default(),
            rate_limit: None,
            recheck: Arc::default(),
            is_sticky,
            lent_out: lending::LentOutCounts::default(),
            matches,
        }
    }

    /// Whether the queue is empty and not polled, such as the sticky queue of a worker that has shut down.
    fn is_unpolled(&self, now: Monotonic) -> bool {
        !self.is_sticky
            && !self.backlog.is_empty()
            && self.pollers.iter().all(WaitingPoll::is_gone)
            && self.last_polled.is_none_or(|last| now.since(last) > UNPOLLED_AFTER)
    }

    fn is_unused(&self, now: Monotonic) -> bool {
        self.backlog.is_empty()
            && self.queries.is_empty()
            && self.pollers.iter().all(WaitingPoll::is_gone)
            && self.last_polled.is_none_or(|last| now.since(last) > SHOWN_FOR)
    }

    fn add_poller(&mut self, poller: WaitingPoll, now: Monotonic) -> Option<Match> {
        if poller.is_gone() {
            return None;
        }
        if let Some(query) = self.queries.pop_front() {
            return Some(Match::Query(query, poller));
        }
        self.pollers.push_back(poller);
        self.match_waiting(now)
    }

    /// Matches a task that has waited.
    fn match_waiting(&mut self, now: Monotonic) -> Option<Match> {
        let matched = self.match_next(now);
        self.count_match(matched.is_some(), false);
        matched
    }

    /// Counts a match of a task, if there is one.
    fn count_match(&self, is_matched: bool, is_sync: bool) {
        match (is_matched, is_sync) {
            (true, true) => self.matches.count_sync(),
            (true, false) => self.matches.count_backlog(),
            (false, _) => {}
        }
    }

    fn series_name(&self, name: &QueueName) -> SeriesName {
        SeriesName::of(name, self.is_sticky)
    }

    /// Matches a waiting task with a waiting poller, if the rate limit allows.
    fn match_next(&mut self, now: Monotonic) -> Option<Match> {
        if self.backlog.is_empty() || !self.has_pollers() {
            return None;
        }
        if self.backlog.must_read() {
            self.recheck.notify_waiters();
        }
        if !self.backlog.has_next() {
            return None;
        }
        if !self.try_acquire(now) {
            self.recheck.notify_waiters();
            return None;
        }
        let (task, poller) = (self.backlog.pop()?, self.claim()?);
        self.taken.count(now);
        Some(Match::Task(task, poller))
    }

    fn rate_limited_for(&mut self, now: Monotonic) -> Option<Duration> {
        let is_held = self.backlog.has_next() && self.has_pollers();
        self.rate_limit.as_mut().filter(|_| is_held).map(|rate_limit| rate_limit.wait(now))
    }

    /// Whether the rate limit allows a task now. If so, it is counted.
    fn try_acquire(&mut self, now: Monotonic) -> bool {
        self.rate_limit.as_mut().is_none_or(|rate_limit| rate_limit.take(now))
    }

    fn has_pollers(&mut self) -> bool {
        while self.pollers.front().is_some_and(WaitingPoll::is_gone) {
            self.pollers.pop_front();
        }
        !self.pollers.is_empty()
    }

    fn claim(&mut self) -> Option<WaitingPoll> {
        if self.has_pollers() { self.pollers.pop_front() } else { None }
    }
}

pub(crate) fn queue_of(task: &WaitingTask) -> QueueName {
    QueueName {
        namespace: NamespaceKey(task.run.as_ref().map_or(0, |run| run.namespace)),
        name: task.queue.clone(),
        kind: match task.kind() {
            TaskKind::Activity => QueueKind::Activity,
            TaskKind::Workflow | TaskKind::Unspecified => QueueKind::Workflow,
        },
    }
}

/// Events per second over the last 30 seconds.
#[derive(Default)]
struct Rate {
    since: Monotonic,
    count: u32,
    before: u32,
}

impl Rate {
    const WINDOW: Duration = Duration::from_secs(30);

    fn count(&mut self, now: Monotonic) {
        self.turn(now);
        self.count += 1;
    }

    fn per_second(&mut self, now: Monotonic) -> f32 {
        self.turn(now);
        let into = now.since(self.since).as_secs_f32() / Self::WINDOW.as_secs_f32();
        let weighted = self.count as f32 + self.before as f32 * (1.0 - into).max(0.0);
        weighted / 30.0
    }

    fn turn(&mut self, now: Monotonic) {
        let passed = now.since(self.since);
        if passed >= Self::WINDOW {
            self.before = if passed < 2 * Self::WINDOW { self.count } else { 0 };
            self.count = 0;
            self.since = now;
        }
    }
}
