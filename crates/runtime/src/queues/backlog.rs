//! Waiting tasks of a queue, by priority, and fair within a priority.
//!
//! Memory holds a limited number: those that are next. The others are rows in the store, and are read when the
//! tasks before them are taken. Each priority level keeps the key after which its unread rows begin.

use std::collections::{BTreeMap, BTreeSet};

use perennial_engine::Time;
use perennial_proto::store::WaitingTask;
use perennial_proto::temporal::common::v1::Priority;
use prost::Message;

use super::backlog_memory::BacklogMemory;

/// Priority of a task that names none. 1 is the most urgent, 5 the least.
const DEFAULT_PRIORITY: i32 = 3;
/// A task of a fairness key with weight 1 advances the key's pass by this much.
const STRIDE: f64 = 1_000_000.0;
/// Memory of a task beyond its encoded length: a high estimate.
const TASK_BYTES: usize = 256;

/// Waiting tasks of one queue.
///
/// Stride scheduling: within a priority, each fairness key has a pass. Each task advances the pass of its key by an
/// amount inverse to the key's weight, and the task with the smallest pass is next. So keys share the workers by
/// weight, however many tasks one key has. Tasks that are only in the store are read in the order of their keys.
pub(super) struct Backlog {
    by_priority: BTreeMap<i32, Level>,
    memory: BacklogMemory,
    /// Tasks in memory.
    len: usize,
    bytes: usize,
    /// Number of the last read.
    number: u64,
}

/// Tasks of one priority. A level without tasks, in memory or in the store, is removed.
#[derive(Default)]
struct Level {
    waiting: BTreeMap<(u64, i64), Waiting>,
    passes: BTreeMap<String, u64>,
    /// The pass of the last task taken: a new key starts here.
    now: u64,
    stored: Option<StoredTasks>,
}

struct Waiting {
    task: WaitingTask,
    bytes: usize,
    /// The task has a row in the store.
    is_stored: bool,
}

/// Tasks of a level that are only in the store. Present until the rows have been read to their end.
struct StoredTasks {
    /// All of these tasks have greater keys.
    after: i64,
    count: usize,
    /// Creation time of the oldest, approximately.
    oldest: Time,
    /// Tasks of the level in memory after the last eviction or read.
    filled: usize,
    reading: Option<ActiveRead>,
}

/// A read of the store in progress.
struct ActiveRead {
    number: u64,
    /// Tasks evicted during the read, which may or may not include them.
    evicted: BTreeSet<i64>,
}

/// A range of rows to read: those of a level after a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    number: u64,
    pub(crate) level: i32,
    pub(crate) after: i64,
}

/// Result of a read: the tasks of a level up to a key, or to the end.
pub(crate) struct Page {
    pub(crate) reading: Reading,
    pub(crate) tasks: Vec<WaitingTask>,
    pub(crate) up_to: i64,
    pub(crate) is_all: bool,
}

/// Priority of a task. A lower number is more urgent.
pub(crate) fn level_of(task: &WaitingTask) -> i32 {
    let priority = task.priority.as_ref().map_or(0, |priority| priority.priority_key);
    if priority > 0 { priority } else { DEFAULT_PRIORITY }
}

impl Backlog {
    pub(super) fn new(memory: BacklogMemory) -> Self {
        Self { by_priority: BTreeMap::new(), memory, len: 0, bytes: 0, number: 0 }
    }

    pub(super) fn push(&mut self, task: WaitingTask, is_stored: bool) {
        let level = self.by_priority.entry(level_of(&task)).or_default();
        let place = (level.pass_of(&task), task.key);
        let is_last = level.waiting.last_key_value().is_none_or(|(last, _)| place > *last);
        if let Some(stored) = &mut level.stored
            && is_stored
            && is_last
        {
            // The tasks before it are only in the store too.
            return stored.add(&task);
        }
        self.insert(task, is_stored);
        self.evict_excess();
    }

    pub(super) fn pop(&mut self) -> Option<WaitingTask> {
        let mut level = self.by_priority.first_entry()?;
        let ((pass, _), waiting) = level.get_mut().waiting.pop_first()?;
        level.get_mut().now = pass;
        if level.get().is_empty() {
            level.remove();
        }
        self.release(waiting.bytes);
        Some(waiting.task)
    }

    /// Drops stored tasks and the selected others from memory, before the store is read again from the start.
    pub(super) fn forget(&mut self, is_meant: impl Fn(&WaitingTask) -> bool) {
        for level in self.by_priority.values_mut() {
            level.stored = None;
            level.waiting.retain(|_, it| !it.is_stored && !is_meant(&it.task));
        }
        self.by_priority.retain(|_, level| !level.is_empty());
        let waiting = || self.by_priority.values().flat_map(|level| level.waiting.values());
        let (len, bytes) = (waiting().count(), waiting().map(|it| it.bytes).sum());
        self.memory.remove(self.bytes);
        self.memory.add(bytes);
        (self.len, self.bytes) = (len, bytes);
    }

    /// Whether the next task is in memory.
    pub(super) fn has_next(&self) -> bool {
        self.by_priority.first_key_value().is_some_and(|(_, level)| !level.waiting.is_empty())
    }

    /// Whether the next task is in the store, and no read is in progress.
    pub(super) fn must_read(&self) -> bool {
        !self.has_next() && self.wants_to_read().is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_priority.is_empty()
    }

    /// Number of tasks, those in the store included.
    pub(super) fn len(&self) -> usize {
        let stored = self.by_priority.values().filter_map(|level| level.stored.as_ref());
        self.len + stored.map(|stored| stored.count).sum::<usize>()
    }

    pub(super) fn oldest(&self) -> Option<Time> {
        let levels = || self.by_priority.values();
        let waiting = levels().flat_map(|level| level.waiting.values());
        let stored = levels().filter_map(|level| level.stored.as_ref());
        let waiting = waiting.map(|waiting| Time(waiting.task.created_at));
        waiting.chain(stored.map(|stored| stored.oldest)).min()
    }

    /// The range of rows to read, if the first level is low and no read is in progress. The caller passes the result
    /// to [`Backlog::take_page`], or calls [`Backlog::read_failed`].
    pub(super) fn begin_reading(&mut self) -> Option<Reading> {
        let reading = self.wants_to_read()?;
        let stored = self.by_priority.get_mut(&reading.level)?.stored.as_mut()?;
        self.number = reading.number;
        stored.reading = Some(ActiveRead { number: reading.number, evicted: BTreeSet::new() });
        Some(reading)
    }

    fn wants_to_read(&self) -> Option<Reading> {
        let (&priority, level) = self.by_priority.first_key_value()?;
        let stored = level.stored.as_ref()?;
        let is_low = level.waiting.len() * 4 <= stored.filled;
        let reading = Reading { number: self.number + 1, level: priority, after: stored.after };
        (is_low && stored.reading.is_none()).then_some(reading)
    }

    /// A read failed.
    pub(super) fn read_failed(&mut self, reading: Reading) {
        if let Some(level) = self.by_priority.get_mut(&reading.level)
            && let Some(stored) = &mut level.stored
        {
            stored.reading.take_if(|it| it.number == reading.number);
        }
    }

    /// Adds the tasks of a read, as many as memory allows.
    pub(super) fn take_page(&mut self, page: Page) {
        let Page { reading, tasks, mut up_to, mut is_all } = page;
        let priority = reading.level;
        let Some(level) = self.by_priority.get_mut(&priority) else { return };
        let is_awaited = |stored: &mut StoredTasks| {
            stored.reading.as_ref().is_some_and(|it| it.number == reading.number)
        };
        // A read from before [`Self::forget`] is dropped: everything is read again.
        let Some(mut stored) = level.stored.take_if(is_awaited) else { return };
        let mut evicted = stored.reading.take().map_or_else(BTreeSet::new, |it| it.evicted);
        let mut known: BTreeSet<i64> = level.waiting.keys().map(|(_, key)| *key).collect();
        let mut has_taken = false;
        for task in tasks {
            if !known.insert(task.key) {
                continue;
            }
            if has_taken && self.is_full() {
                (up_to, is_all) = (task.key - 1, false);
                break;
            }
            has_taken = true;
            evicted.remove(&task.key);
            stored.count = stored.count.saturating_sub(1);
            stored.oldest = stored.oldest.max(Time(task.created_at));
            self.insert(task, true);
        }
        let Some(level) = self.by_priority.get_mut(&priority) else { return };
        if is_all && evicted.is_empty() {
            if level.is_empty() {
                self.by_priority.remove(&priority);
            }
            return;
        }
        stored.count = if is_all { evicted.len() } else { stored.count.max(1) };
        stored.after = evicted.first().map_or(up_to, |first| up_to.min(first - 1));
        stored.filled = level.waiting.len();
        level.stored = Some(stored);
    }

    /// Adds a task to memory.
    fn insert(&mut self, task: WaitingTask, is_stored: bool) {
        let level = self.by_priority.entry(level_of(&task)).or_default();
        let pass = level.pass_of(&task);
        level.note_pass(&task, pass);
        let bytes = TASK_BYTES + task.encoded_len();
        level.waiting.insert((pass, task.key), Waiting { task, bytes, is_stored });
        self.len += 1;
        self.bytes += bytes;
        self.memory.add(bytes);
    }

    fn is_full(&self) -> bool {
        self.memory.is_exceeded(self.len, self.bytes)
    }

    /// Evicts the last tasks of the least urgent level while the memory limit is exceeded.
    fn evict_excess(&mut self) {
        while self.len > 1 && self.is_full() {
            let last = self.by_priority.values_mut().rev().find_map(Level::evict_last);
            let Some(bytes) = last else { return };
            self.release(bytes);
        }
    }

    fn release(&mut self, bytes: usize) {
        self.len -= 1;
        self.bytes -= bytes;
        self.memory.remove(bytes);
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        self.memory.remove(self.bytes);
    }
}

impl Level {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.stored.is_none()
    }

    /// The pass of a task that is added now.
    fn pass_of(&self, task: &WaitingTask) -> u64 {
        let key = task.priority.as_ref().map_or("", |priority| priority.fairness_key.as_str());
        let last = self.passes.get(key).copied().unwrap_or(0).max(self.now);
        last + stride(task.priority.as_ref())
    }

    fn note_pass(&mut self, task: &WaitingTask, pass: u64) {
        let key = task.priority.as_ref().map_or("", |priority| priority.fairness_key.as_str());
        // A key with an older pass starts at `now` anyway.
        if self.passes.len() > 2 * self.waiting.len() + 16 {
            self.passes.retain(|_, pass| *pass > self.now);
        }
        self.passes.insert(key.to_owned(), pass);
    }

    /// Evicts the last stored task. Returns its bytes.
    fn evict_last(&mut self) -> Option<usize> {
        let place = *self.waiting.iter().rev().find(|(_, waiting)| waiting.is_stored)?.0;
        let Waiting { task, bytes, .. } = self.waiting.remove(&place)?;
        self.note_pass(&task, place.0 - stride(task.priority.as_ref()));
        let filled = self.waiting.len();
        let stored = self.stored.get_or_insert(StoredTasks {
            after: i64::MAX,
            count: 0,
            oldest: Time(i64::MAX),
            filled,
            reading: None,
        });
        stored.add(&task);
        stored.filled = filled;
        Some(bytes)
    }
}

impl StoredTasks {
    fn add(&mut self, task: &WaitingTask) {
        self.count += 1;
        self.after = self.after.min(task.key - 1);
        self.oldest = self.oldest.min(Time(task.created_at));
        if let Some(reading) = &mut self.reading {
            reading.evicted.insert(task.key);
        }
    }
}

fn stride(priority: Option<&Priority>) -> u64 {
    let weight = priority.map_or(0.0, |priority| priority.fairness_weight);
    let weight = if weight > 0.0 { f64::from(weight).clamp(0.001, 1000.0) } else { 1.0 };
    (STRIDE / weight) as u64
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::common::v1::Priority;

    use super::*;

    fn task(key: i64, priority_key: i32, fairness_key: &str, fairness_weight: f32) -> WaitingTask {
        let fairness_key = fairness_key.to_owned();
        let priority = Priority { priority_key, fairness_key, fairness_weight };
        WaitingTask { key, priority: Some(priority), ..WaitingTask::default() }
    }

    fn drained(tasks: Vec<WaitingTask>) -> Vec<i64> {
        let mut backlog = Backlog::new(BacklogMemory::of(1 << 20));
        tasks.into_iter().for_each(|task| backlog.push(task, true));
        std::iter::from_fn(|| backlog.pop()).map(|task| task.key).collect()
    }

    #[test]
    fn urgent_tasks_come_first_and_equal_ones_in_order() {
        let tasks = vec![
            task(1, 0, "", 0.0),
            task(2, 5, "", 0.0),
            task(3, 1, "", 0.0),
            task(4, 3, "", 0.0),
        ];
        assert_eq!(drained(tasks), [3, 1, 4, 2]);
    }

    #[test]
    fn a_key_with_a_long_line_doesnt_hold_up_another() {
        let mut tasks: Vec<_> = (1..=100).map(|key| task(key, 0, "big", 1.0)).collect();
        tasks.extend((101..=110).map(|key| task(key, 0, "small", 1.0)));
        let first: Vec<_> = drained(tasks).into_iter().take(20).collect();
        assert_eq!(first.iter().filter(|key| **key > 100).count(), 10);
    }

    #[test]
    fn keys_share_by_their_weights() {
        let mut tasks: Vec<_> = (1..=100).map(|key| task(key, 0, "heavy", 3.0)).collect();
        tasks.extend((101..=200).map(|key| task(key, 0, "light", 1.0)));
        let first: Vec<_> = drained(tasks).into_iter().take(40).collect();
        assert_eq!(first.iter().filter(|key| **key <= 100).count(), 30);
    }

    /// A backlog with memory for a few tasks, and the rows it may read.
    struct Paged {
        backlog: Backlog,
        rows: BTreeMap<i64, WaitingTask>,
    }

    impl Paged {
        fn new() -> Self {
            Self { backlog: Backlog::new(BacklogMemory::of(8 * 1024)), rows: BTreeMap::new() }
        }

        fn push(&mut self, task: WaitingTask) {
            self.rows.insert(task.key, task.clone());
            self.backlog.push(task, true);
            assert!(self.backlog.len < 20, "{} tasks are in memory", self.backlog.len);
        }

        fn read(&mut self) {
            while let Some(reading) = self.backlog.begin_reading() {
                let Reading { level, after, .. } = reading;
                let rows: Vec<_> = self.rows.range(after + 1..).take(7).collect();
                let is_all = rows.len() < 7;
                let up_to = rows.last().map_or(after, |(key, _)| **key);
                let tasks = rows.into_iter().map(|(_, task)| task.clone());
                let tasks = tasks.filter(|task| level_of(task) == level).collect();
                self.backlog.take_page(Page { reading, tasks, up_to, is_all });
            }
        }

        fn pop(&mut self) -> Option<i64> {
            self.read();
            let key = self.backlog.pop()?.key;
            self.rows.remove(&key);
            assert_eq!(self.backlog.len(), self.rows.len());
            Some(key)
        }
    }

    #[test]
    fn long_backlog_is_in_the_store_and_comes_back_in_order() {
        let mut paged = Paged::new();
        (1..=500).for_each(|key| paged.push(task(key, 0, "", 0.0)));
        assert_eq!(paged.backlog.len(), 500);
        let popped: Vec<_> = std::iter::from_fn(|| paged.pop()).collect();
        assert_eq!(popped, (1..=500).collect::<Vec<_>>());
        assert!(paged.backlog.is_empty());
    }

    #[test]
    fn urgent_task_goes_before_a_backlog_that_is_in_the_store() {
        let mut paged = Paged::new();
        (1..=100).for_each(|key| paged.push(task(key, 3, "", 0.0)));
        (101..=200).for_each(|key| paged.push(task(key, 1, "", 0.0)));
        let popped: Vec<_> = std::iter::from_fn(|| paged.pop()).collect();
        assert_eq!(popped, (101..=200).chain(1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn task_that_comes_while_the_store_is_read_is_not_forgotten() {
        let mut paged = Paged::new();
        (1..=30).for_each(|key| paged.push(task(key, 0, "", 0.0)));
        while paged.backlog.pop().is_some_and(|task| paged.rows.remove(&task.key).is_some()) {}
        let reading = paged.backlog.begin_reading().unwrap();
        let tasks = paged.rows.range(reading.after + 1..).map(|(_, task)| task.clone()).collect();
        paged.push(task(31, 0, "", 0.0));
        paged.push(task(0, 0, "", 0.0));
        paged.backlog.take_page(Page { reading, tasks, up_to: 30, is_all: true });
        let mut popped: Vec<_> = std::iter::from_fn(|| paged.pop()).collect();
        popped.sort_unstable();
        assert_eq!(popped.last(), Some(&31));
        assert_eq!(popped.first(), Some(&0));
    }

    #[test]
    fn task_without_a_row_stays_in_memory() {
        let mut backlog = Backlog::new(BacklogMemory::of(8 * 1024));
        (1..=100).for_each(|key| backlog.push(task(key, 0, "", 0.0), false));
        let popped: Vec<_> = std::iter::from_fn(|| backlog.pop()).map(|task| task.key).collect();
        assert_eq!(popped, (1..=100).collect::<Vec<_>>());
    }
}
