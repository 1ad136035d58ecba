//! Tasks that wait for a poller: the most urgent first, and fair among those equally urgent.
//!
//! Only so many are in memory: the most urgent, and of those the first. The others are rows in the store, and are
//! read when the ones before them have gone. Each level of urgency remembers the key after which its rows are.

use std::collections::{BTreeMap, BTreeSet};

use perennial_engine::Time;
use perennial_proto::store::WaitingTask;
use perennial_proto::temporal::common::v1::Priority;
use prost::Message;

use super::room::Room;

/// Priority of a task that names none. 1 is the most urgent, 5 the least.
const DEFAULT_PRIORITY: i32 = 3;
/// A pass moves on by this much for a key of weight 1.
const STRIDE: f64 = 1_000_000.0;
/// What a task in memory takes beside what it says: a guess, on the high side.
const TASK_BYTES: usize = 256;

/// Waiting tasks of one queue.
///
/// Within a priority each fairness key has a pass, moved on by each of its tasks the more the less its
/// weight is; the task with the smallest pass is next. So keys share the workers by their weights, however
/// long one key's own line is; of tasks that are only in the store, those that came first are next.
pub(super) struct Backlog {
    by_priority: BTreeMap<i32, Level>,
    room: Room,
    /// In memory.
    len: usize,
    bytes: usize,
    /// Of the last reading.
    number: u64,
}

/// Never without tasks, in memory or in the store.
#[derive(Default)]
struct Level {
    waiting: BTreeMap<(u64, i64), Waiting>,
    passes: BTreeMap<String, u64>,
    /// The pass of the last task taken: a key that comes anew begins here, not in the past.
    now: u64,
    outside: Option<Outside>,
}

struct Waiting {
    task: WaitingTask,
    bytes: usize,
    /// It has a row in the store.
    is_stored: bool,
}

/// Tasks of a level that are in the store alone. While it is there, there may be some; it goes when the rows have
/// been read to their end.
struct Outside {
    /// All of them have greater keys.
    after: i64,
    count: usize,
    /// When the first of them was made, about.
    oldest: Time,
    /// How many were in memory when the last of them was put out, or read.
    filled: usize,
    reading: Option<UnderWay>,
}

/// The store is being read.
struct UnderWay {
    number: u64,
    /// Tasks put out meanwhile: the store may or may not have seen them.
    put_out: BTreeSet<i64>,
}

/// Rows to be read: those of a level after a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    number: u64,
    pub(crate) level: i32,
    pub(crate) after: i64,
}

/// What was read of a level: its tasks up to a key, or to the end.
pub(crate) struct Page {
    pub(crate) reading: Reading,
    pub(crate) tasks: Vec<WaitingTask>,
    pub(crate) up_to: i64,
    pub(crate) is_all: bool,
}

/// How urgent a task is: the less, the more.
pub(crate) fn level_of(task: &WaitingTask) -> i32 {
    let priority = task.priority.as_ref().map_or(0, |priority| priority.priority_key);
    if priority > 0 { priority } else { DEFAULT_PRIORITY }
}

impl Backlog {
    pub(super) fn new(room: Room) -> Self {
        Self { by_priority: BTreeMap::new(), room, len: 0, bytes: 0, number: 0 }
    }

    pub(super) fn push(&mut self, task: WaitingTask, is_stored: bool) {
        let level = self.by_priority.entry(level_of(&task)).or_default();
        let place = (level.pass_of(&task), task.key);
        let is_last = level.waiting.last_key_value().is_none_or(|(last, _)| place > *last);
        if let Some(outside) = &mut level.outside
            && is_stored
            && is_last
        {
            // Those before it are in the store too.
            return outside.add(&task);
        }
        self.hold(task, is_stored);
        self.make_room();
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

    /// Drops tasks in memory that are to be read again or are gone for good, and knows no more what is in the store.
    pub(super) fn forget(&mut self, is_meant: impl Fn(&WaitingTask) -> bool) {
        for level in self.by_priority.values_mut() {
            level.outside = None;
            level.waiting.retain(|_, it| !it.is_stored && !is_meant(&it.task));
        }
        self.by_priority.retain(|_, level| !level.is_empty());
        let waiting = || self.by_priority.values().flat_map(|level| level.waiting.values());
        let (len, bytes) = (waiting().count(), waiting().map(|it| it.bytes).sum());
        self.room.remove(self.bytes);
        self.room.add(bytes);
        (self.len, self.bytes) = (len, bytes);
    }

    /// Whether there is a task to be taken now.
    pub(super) fn has_next(&self) -> bool {
        self.by_priority.first_key_value().is_some_and(|(_, level)| !level.waiting.is_empty())
    }

    /// Whether the next task is in the store, and someone has to read it.
    pub(super) fn must_read(&self) -> bool {
        !self.has_next() && self.wants_to_read().is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_priority.is_empty()
    }

    /// Those in the store included.
    pub(super) fn len(&self) -> usize {
        let outside = self.by_priority.values().filter_map(|level| level.outside.as_ref());
        self.len + outside.map(|outside| outside.count).sum::<usize>()
    }

    pub(super) fn oldest(&self) -> Option<Time> {
        let levels = || self.by_priority.values();
        let waiting = levels().flat_map(|level| level.waiting.values());
        let outside = levels().filter_map(|level| level.outside.as_ref());
        let waiting = waiting.map(|waiting| Time(waiting.task.created_at));
        waiting.chain(outside.map(|outside| outside.oldest)).min()
    }

    /// Rows to read, if the first level is nearly used up and nobody reads yet. The caller tells what it read with
    /// [`Backlog::take_page`], or that it couldn't with [`Backlog::unread`].
    pub(super) fn begin_reading(&mut self) -> Option<Reading> {
        let reading = self.wants_to_read()?;
        let outside = self.by_priority.get_mut(&reading.level)?.outside.as_mut()?;
        self.number = reading.number;
        outside.reading = Some(UnderWay { number: reading.number, put_out: BTreeSet::new() });
        Some(reading)
    }

    fn wants_to_read(&self) -> Option<Reading> {
        let (&priority, level) = self.by_priority.first_key_value()?;
        let outside = level.outside.as_ref()?;
        let is_low = level.waiting.len() * 4 <= outside.filled;
        let reading = Reading { number: self.number + 1, level: priority, after: outside.after };
        (is_low && outside.reading.is_none()).then_some(reading)
    }

    /// The store couldn't be read.
    pub(super) fn unread(&mut self, reading: Reading) {
        if let Some(level) = self.by_priority.get_mut(&reading.level)
            && let Some(outside) = &mut level.outside
        {
            outside.reading.take_if(|it| it.number == reading.number);
        }
    }

    /// Takes what was read, as much as there is room for.
    pub(super) fn take_page(&mut self, page: Page) {
        let Page { reading, tasks, mut up_to, mut is_all } = page;
        let priority = reading.level;
        let Some(level) = self.by_priority.get_mut(&priority) else { return };
        let is_awaited = |outside: &mut Outside| {
            outside.reading.as_ref().is_some_and(|it| it.number == reading.number)
        };
        // Not awaited if it was forgotten meanwhile: all of it is read again.
        let Some(mut outside) = level.outside.take_if(is_awaited) else { return };
        let mut put_out = outside.reading.take().map_or_else(BTreeSet::new, |it| it.put_out);
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
            put_out.remove(&task.key);
            outside.count = outside.count.saturating_sub(1);
            outside.oldest = outside.oldest.max(Time(task.created_at));
            self.hold(task, true);
        }
        let Some(level) = self.by_priority.get_mut(&priority) else { return };
        if is_all && put_out.is_empty() {
            if level.is_empty() {
                self.by_priority.remove(&priority);
            }
            return;
        }
        outside.count = if is_all { put_out.len() } else { outside.count.max(1) };
        outside.after = put_out.first().map_or(up_to, |first| up_to.min(first - 1));
        outside.filled = level.waiting.len();
        level.outside = Some(outside);
    }

    /// Keeps a task in memory.
    fn hold(&mut self, task: WaitingTask, is_stored: bool) {
        let level = self.by_priority.entry(level_of(&task)).or_default();
        let pass = level.pass_of(&task);
        level.note_pass(&task, pass);
        let bytes = TASK_BYTES + task.encoded_len();
        level.waiting.insert((pass, task.key), Waiting { task, bytes, is_stored });
        self.len += 1;
        self.bytes += bytes;
        self.room.add(bytes);
    }

    fn is_full(&self) -> bool {
        self.room.is_exceeded(self.len, self.bytes)
    }

    /// Puts the last of the least urgent out of memory, as long as there are too many.
    fn make_room(&mut self) {
        while self.len > 1 && self.is_full() {
            let last = self.by_priority.values_mut().rev().find_map(Level::put_out_last);
            let Some(bytes) = last else { return };
            self.release(bytes);
        }
    }

    fn release(&mut self, bytes: usize) {
        self.len -= 1;
        self.bytes -= bytes;
        self.room.remove(bytes);
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        self.room.remove(self.bytes);
    }
}

impl Level {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.outside.is_none()
    }

    /// The pass that a task gets which comes now.
    fn pass_of(&self, task: &WaitingTask) -> u64 {
        let key = task.priority.as_ref().map_or("", |priority| priority.fairness_key.as_str());
        let last = self.passes.get(key).copied().unwrap_or(0).max(self.now);
        last + stride(task.priority.as_ref())
    }

    fn note_pass(&mut self, task: &WaitingTask, pass: u64) {
        let key = task.priority.as_ref().map_or("", |priority| priority.fairness_key.as_str());
        // A key that has fallen behind begins at `now` anyway.
        if self.passes.len() > 2 * self.waiting.len() + 16 {
            self.passes.retain(|_, pass| *pass > self.now);
        }
        self.passes.insert(key.to_owned(), pass);
    }

    /// Leaves the last task that has a row to the store. Returns the bytes it took.
    fn put_out_last(&mut self) -> Option<usize> {
        let place = *self.waiting.iter().rev().find(|(_, waiting)| waiting.is_stored)?.0;
        let Waiting { task, bytes, .. } = self.waiting.remove(&place)?;
        self.note_pass(&task, place.0 - stride(task.priority.as_ref()));
        let filled = self.waiting.len();
        let outside = self.outside.get_or_insert(Outside {
            after: i64::MAX,
            count: 0,
            oldest: Time(i64::MAX),
            filled,
            reading: None,
        });
        outside.add(&task);
        outside.filled = filled;
        Some(bytes)
    }
}

impl Outside {
    fn add(&mut self, task: &WaitingTask) {
        self.count += 1;
        self.after = self.after.min(task.key - 1);
        self.oldest = self.oldest.min(Time(task.created_at));
        if let Some(reading) = &mut self.reading {
            reading.put_out.insert(task.key);
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
        let mut backlog = Backlog::new(Room::of(1 << 20));
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

    /// A backlog with room for a few tasks, and the rows it may read.
    struct Paged {
        backlog: Backlog,
        rows: BTreeMap<i64, WaitingTask>,
    }

    impl Paged {
        fn new() -> Self {
            Self { backlog: Backlog::new(Room::of(8 * 1024)), rows: BTreeMap::new() }
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
        let mut backlog = Backlog::new(Room::of(8 * 1024));
        (1..=100).for_each(|key| backlog.push(task(key, 0, "", 0.0), false));
        let popped: Vec<_> = std::iter::from_fn(|| backlog.pop()).map(|task| task.key).collect();
        assert_eq!(popped, (1..=100).collect::<Vec<_>>());
    }
}
