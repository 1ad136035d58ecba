//! Task queues: pollers that wait for tasks, and tasks that wait for pollers.
//!
//! All of it is a hint. A run's own cell decides whether a task is still to be started, and the rows of
//! waiting tasks are the cell's; what is here can be lost and read again.

mod backlog;
mod departures;
mod pace;
mod room;
mod waiting_poll;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perennial_engine::{NamespaceKey, Time};
use perennial_proto::store::{RunName, TaskKind, WaitingTask};
use tokio::sync::Notify;

pub(crate) use self::backlog::{Page, Reading, level_of};
pub(crate) use self::waiting_poll::{Grant, WaitingPoll};

use self::backlog::Backlog;
use self::departures::Departures;
use self::pace::Pace;
use self::room::Room;
use crate::api::{Demand, LeavingWorker, QueueDescription};
use crate::clock::Monotonic;

/// A queue counts as polled this long after its last poll.
const POLLED_WITHIN: Duration = Duration::from_secs(10);
/// Pollers are shown to people this long after their last poll.
const SHOWN_FOR: Duration = Duration::from_secs(300);

/// A poll that waited this long for its task was one too many.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// From this many queues on, those that nobody uses are forgotten.
const QUEUES_KEPT: usize = 1_000;

/// What kind of tasks a queue holds: a name has one queue of each.
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

/// A query that goes to a worker by itself. Never stored.
#[derive(Debug, Clone)]
pub(crate) struct QueryTask {
    pub(crate) queue: QueueName,
    pub(crate) run: RunName,
    pub(crate) query_id: String,
    pub(crate) is_sticky: bool,
}

/// What a poller got.
pub(crate) enum Match {
    Task(WaitingTask, WaitingPoll),
    Query(QueryTask, WaitingPoll),
}

/// All queues of a node.
pub(crate) struct Queues {
    room: Room,
    queues: Mutex<HashMap<QueueName, Queue>>,
    /// A poll that was on its way when its worker went ends at once.
    departures: Departures,
}

struct Queue {
    pollers: VecDeque<WaitingPoll>,
    backlog: Backlog,
    queries: VecDeque<QueryTask>,
    /// `None` if its worker has gone, or nobody has polled it yet.
    last_polled: Option<Monotonic>,
    seen: BTreeMap<String, Seen>,
    added: Rate,
    taken: Rate,
    /// As the worker asked that spoke of it last.
    pace: Option<Pace>,
    /// Tells the polls that a task is held back, or has to be read from the store.
    held: Arc<Notify>,
}

struct Seen {
    at: Monotonic,
    rate: f64,
    deployment: Option<perennial_proto::temporal::deployment::v1::WorkerDeploymentOptions>,
}

impl Queues {
    /// No queues yet, and room in memory for so many bytes of tasks.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let room = Room::of(bytes_max);
        Self { room, queues: Mutex::default(), departures: Departures::default() }
    }

    /// A poller comes. A task that waits for it is taken at once, and the caller brings both together.
    pub(crate) fn poll(&self, poller: WaitingPoll, now: Monotonic) -> Option<Match> {
        if self.departures.include(&poller) {
            return None;
        }
        let mut queues = self.lock();
        if queues.len() > QUEUES_KEPT && !queues.contains_key(&poller.queue) {
            queues.retain(|_, queue| !queue.is_forgotten(now));
        }
        let queue = self.entry(&mut queues, poller.queue.clone());
        queue.last_polled = Some(now);
        if let Some(per_second) = poller.info.max_tasks_per_second {
            queue.pace.get_or_insert_with(|| Pace::new(per_second, now)).set(per_second, now);
        }
        let seen = Seen {
            at: now,
            rate: poller.info.max_tasks_per_second.unwrap_or(100_000.0),
            deployment: poller.info.deployment.clone(),
        };
        queue.seen.insert(poller.identity().to_owned(), seen);
        queue.seen.retain(|_, seen| now.since(seen.at) < SHOWN_FOR);
        queue.meet(poller, now)
    }

    /// A poller that got nothing after all waits on.
    pub(crate) fn poll_again(&self, poller: WaitingPoll, now: Monotonic) -> Option<Match> {
        let mut queues = self.lock();
        self.entry(&mut queues, poller.queue.clone()).meet(poller, now)
    }

    /// A task waits, with a row in the store or without. A poller that came meanwhile takes it at once.
    pub(crate) fn offer(
        &self,
        task: WaitingTask,
        is_stored: bool,
        now: Monotonic,
    ) -> Option<Match> {
        let mut queues = self.lock();
        let queue = self.entry(&mut queues, queue_of(&task));
        queue.added.count(now);
        queue.backlog.push(task, is_stored);
        queue.hand_out(now)
    }

    /// Rows to be read for a queue that has few tasks left in memory, by the one who asks.
    pub(crate) fn begin_reading(&self, queue: &QueueName) -> Option<Reading> {
        self.lock().get_mut(queue)?.backlog.begin_reading()
    }

    /// They couldn't be read.
    pub(crate) fn unread(&self, queue: &QueueName, reading: Reading) {
        if let Some(queue) = self.lock().get_mut(queue) {
            queue.backlog.unread(reading);
        }
    }

    /// They were read: what pollers get of them.
    pub(crate) fn take_page(&self, queue: &QueueName, page: Page, now: Monotonic) -> Vec<Match> {
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(queue) else { return Vec::new() };
        queue.backlog.take_page(page);
        std::iter::from_fn(|| queue.hand_out(now)).collect()
    }

    /// How long a task is held back though a poller waits for it. Nothing if none is.
    pub(crate) fn held_for(&self, queue: &QueueName, now: Monotonic) -> Option<Duration> {
        self.lock().get_mut(queue)?.held_for(now)
    }

    /// Tells when a task begins to be held back.
    pub(crate) fn held(&self, queue: &QueueName) -> Arc<Notify> {
        Arc::clone(&self.entry(&mut self.lock(), queue.clone()).held)
    }

    /// A task that was held back goes, if it may by now.
    pub(crate) fn hand_out(&self, queue: &QueueName, now: Monotonic) -> Option<Match> {
        self.lock().get_mut(queue)?.hand_out(now)
    }

    /// A query waits.
    pub(crate) fn offer_query(&self, task: QueryTask) -> Option<Match> {
        let mut queues = self.lock();
        let queue = self.entry(&mut queues, task.queue.clone());
        match queue.claim() {
            Some(poller) => Some(Match::Query(task, poller)),
            None => {
                queue.queries.push_back(task);
                None
            }
        }
    }

    /// A poller that waits on the queue, taken off it, if nothing else waits for one.
    pub(crate) fn claim(&self, queue: &QueueName, now: Monotonic) -> Option<WaitingPoll> {
        let mut queues = self.lock();
        let queue = queues.get_mut(queue)?;
        if !queue.backlog.is_empty() || !queue.has_pollers() || !queue.may_go(now) {
            return None;
        }
        queue.claim()
    }

    /// Whether someone polls the queue, or did a moment ago.
    pub(crate) fn is_polled(&self, queue: &QueueName, now: Monotonic) -> bool {
        let mut queues = self.lock();
        queues.get_mut(queue).is_some_and(|queue| {
            let last = queue.last_polled;
            queue.has_pollers() || last.is_some_and(|last| now.since(last) < POLLED_WITHIN)
        })
    }

    /// Ends the polls of a worker that goes, also those still to come, and forgets that its own queue was
    /// polled.
    pub(crate) fn end_polls(&self, leaving: &LeavingWorker, now: Monotonic) {
        self.departures.note(leaving, now);
        let mut queues = self.lock();
        for (name, queue) in queues.iter_mut() {
            if name.namespace != leaving.namespace {
                continue;
            }
            queue.pollers.retain(|poller| !self.departures.include(poller));
            if !leaving.sticky_queue.is_empty() && name.name == leaving.sticky_queue {
                queue.pollers.clear();
                queue.last_polled = None;
            }
        }
    }

    /// Forgets the tasks that have rows, which are about to be read again, and these of the others.
    pub(crate) fn forget_tasks(&self, is_meant: impl Fn(&WaitingTask) -> bool) {
        for queue in self.lock().values_mut() {
            queue.backlog.forget(&is_meant);
        }
    }

    /// How busy a queue is, as a poll sees it that came then and got a task now.
    pub(crate) fn demand(&self, queue: &QueueName, polled_at: Monotonic, now: Monotonic) -> Demand {
        let backlog = self.lock().get(queue).map_or(0, |queue| queue.backlog.len() as i64);
        let polls_delta = match backlog {
            0 if now.since(polled_at) >= IDLE_AFTER => -1,
            0 => 0,
            _ => 1,
        };
        Demand { backlog, polls_delta }
    }

    /// What is known of a queue. Its pollers are shown by the clock of people, of which it is `shown_now`.
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

    fn entry<'a>(
        &self,
        queues: &'a mut HashMap<QueueName, Queue>,
        name: QueueName,
    ) -> &'a mut Queue {
        queues.entry(name).or_insert_with(|| Queue::new(self.room.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueName, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn new(room: Room) -> Self {
        Self {
            pollers: VecDeque::new(),
            backlog: Backlog::new(room),
            queries: VecDeque::new(),
            last_polled: None,
            seen: BTreeMap::new(),
            added: Rate::default(),
            taken: Rate::default(),
            pace: None,
            held: Arc::default(),
        }
    }

    /// Nobody polls it, and nothing waits in it: a worker's own queue after the worker has gone.
    fn is_forgotten(&self, now: Monotonic) -> bool {
        self.backlog.is_empty()
            && self.queries.is_empty()
            && self.pollers.iter().all(WaitingPoll::is_gone)
            && self.last_polled.is_none_or(|last| now.since(last) > SHOWN_FOR)
    }

    fn meet(&mut self, poller: WaitingPoll, now: Monotonic) -> Option<Match> {
        if poller.is_gone() {
            return None;
        }
        if let Some(query) = self.queries.pop_front() {
            return Some(Match::Query(query, poller));
        }
        self.pollers.push_back(poller);
        self.hand_out(now)
    }

    /// Brings a waiting task and a waiting poller together, if there are both and the task may go.
    fn hand_out(&mut self, now: Monotonic) -> Option<Match> {
        if self.backlog.is_empty() || !self.has_pollers() {
            return None;
        }
        if self.backlog.must_read() {
            self.held.notify_waiters();
        }
        if !self.backlog.has_next() {
            return None;
        }
        if !self.may_go(now) {
            self.held.notify_waiters();
            return None;
        }
        let (task, poller) = (self.backlog.pop()?, self.claim()?);
        self.taken.count(now);
        Some(Match::Task(task, poller))
    }

    fn held_for(&mut self, now: Monotonic) -> Option<Duration> {
        let is_held = self.backlog.has_next() && self.has_pollers();
        self.pace.as_mut().filter(|_| is_held).map(|pace| pace.wait(now))
    }

    /// Whether a task may go now: then it counts.
    fn may_go(&mut self, now: Monotonic) -> bool {
        self.pace.as_mut().is_none_or(|pace| pace.take(now))
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

/// Things a second, over the last half minute.
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
